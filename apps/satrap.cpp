// satrap: trains and evaluates under mpirun or srun. Everything but the command line is in src/job.

#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "comm/mpi/environment.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "core/processor.hpp"
#include "job/job.hpp"

namespace {

using satrap::ConfigError;
using satrap::job::Request;

constexpr const char* kUsage =
    R"(usage: mpirun -n RANKS satrap train CONFIG [--section.key=value ...]
       mpirun -n RANKS satrap eval  CONFIG [--section.key=value ...]

train   trains the experiment that the INI file CONFIG describes, and goes on from its newest checkpoint
eval    evaluates the newest checkpoint of the run, or the one that --job.resume names

  --role ROLE      role of these ranks: server, worker, trainer or auto (by the counts in [roles])
  --dry-run        check everything, print roles, tables and memory per rank, and stop
  --print-config   print the resolved config, which can be used as CONFIG, and stop
  --help           this text; with train or eval before it, every key of the config as well
  --version
)";

struct Invocation {
  Request request;
  bool help = false;
  bool keys = false;  ///< Of the config, in the help.
  bool version = false;
};

Invocation parse(const std::vector<std::string>& arguments) {
  namespace po = boost::program_options;
  const auto line = satrap::config::parse_command_line(arguments);
  po::options_description options;
  options.add_options()("role", po::value<std::string>()->default_value("auto"));
  for (const char* flag : {"dry-run", "print-config", "help,h", "version"}) {
    options.add_options()(flag, "");
  }
  options.add_options()("positional", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("positional", -1);
  po::variables_map given;
  try {
    namespace style = po::command_line_style;
    po::store(po::command_line_parser(line.rest)
                  .options(options)
                  .positional(positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              given);
  } catch (const po::error& error) {
    throw ConfigError(fmt::format("command line: {}", error.what()), {},
                      "satrap --help tells what can be said");
  }

  Invocation invocation;
  const auto words = given.count("positional") != 0
                         ? given["positional"].as<std::vector<std::string>>()
                         : std::vector<std::string>();
  invocation.version = given.count("version") != 0;
  invocation.help = given.count("help") != 0 || (arguments.empty() && !invocation.version);
  invocation.keys = !words.empty();
  if (invocation.help || invocation.version) return invocation;

  Request& request = invocation.request;
  request.settings = line.settings;
  request.role = satrap::job::parse_role(given["role"].as<std::string>());
  if (words.empty() || (words[0] != "train" && words[0] != "eval")) {
    throw ConfigError(fmt::format("command line: {} is not something that satrap does",
                                  words.empty() ? "nothing" : words[0]),
                      {}, "use satrap train CONFIG or satrap eval CONFIG");
  }
  if (words.size() != 2) {
    throw ConfigError(fmt::format("command line: {} config files given", words.size() - 1),
                      "one experiment is one file", "use satrap train CONFIG");
  }
  request.config_path = words[1];
  if (words[0] == "eval") request.action = Request::Action::evaluate;
  if (given.count("print-config") != 0) request.action = Request::Action::print_config;
  if (given.count("dry-run") != 0) request.action = Request::Action::dry_run;
  return invocation;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    satrap::check_processor();
    Invocation invocation;
    std::string refusal;
    try {
      invocation = parse(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const satrap::Error& error) {
      refusal = error.what();
    }
    if (invocation.version) {
      std::puts("satrap " SATRAP_VERSION);
      return 0;
    }
    if (invocation.help && refusal.empty()) {
      std::cout << kUsage;
      if (invocation.keys) std::cout << "\nKeys of the config\n\n" << satrap::config::help();
      return 0;
    }
    satrap::comm::Environment environment(&argc, &argv);
    return static_cast<int>(satrap::job::run(invocation.request, refusal));
  } catch (const std::exception& error) {
    const satrap::Fault fault = satrap::to_fault(error);
    std::fprintf(stderr, "satrap: %s\n", fault.message.c_str());
    return static_cast<int>(fault.code);
  }
}
