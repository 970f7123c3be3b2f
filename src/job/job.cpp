#include "job/job.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "comm/mpi/communicator.hpp"
#include "comm/mpi/environment.hpp"
#include "comm/ring/fabric.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "data/reader.hpp"
#include "job/plan.hpp"
#include "job/role_loops.hpp"
#include "job/run_directory.hpp"

namespace satrap::job {

namespace {

/// A fault that every rank knows of; its message is rank 0's to tell.
struct Refused {
  ExitCode code;
  std::string message;
};

/// Runs `fn` on rank 0 and gives its text to all ranks. What it throws is thrown on all as Refused.
template <class Fn>
std::string on_first_rank(const comm::Communicator& world, Fn&& fn) {
  ExitCode code = ExitCode::done;
  std::string text;
  if (world.rank() == 0) {
    try {
      text = fn();
    } catch (const Error& error) {
      code = error.code();
      text = error.what();
    } catch (const std::exception& error) {
      code = ExitCode::internal;
      text = error.what();
    }
  }
  const std::string code_text = world.broadcast(std::to_string(static_cast<int>(code)), 0);
  text = world.broadcast(text, 0);
  code = static_cast<ExitCode>(std::stoi(code_text));
  if (code != ExitCode::done) throw Refused{code, text};
  return text;
}

void refuse_if_any_rank_does(const comm::Communicator& world, const std::string& refusal) {
  for (const std::string& text : world.all_gather(refusal)) {
    if (!text.empty()) throw Refused{ExitCode::usage, text};
  }
}

config::Config resolve_everywhere(const comm::Communicator& world, const Request& request) {
  const std::string ini = on_first_rank(world, [&] {
    std::vector<config::Setting> settings;
    if (!request.config_path.empty()) settings = config::read_ini(request.config_path);
    settings.insert(settings.end(), request.settings.begin(), request.settings.end());
    return config::to_ini(config::resolve(settings));
  });
  return config::resolve(config::parse_ini(ini, "the config of rank 0"), config::Files::skip);
}

Cast cast_everywhere(const comm::Communicator& world, config::Config& config,
                     std::optional<Role> role) {
  try {
    return cast_roles(config, world, role);
  } catch (const ConfigError& error) {
    throw Refused{error.code(), error.what()};
  }
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part + "\n";
  return text;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

ExitCode play(const Stage& stage, const comm::Communicator& world) {
  const comm::Communicator trainers =
      world.split(stage.cast.role == Role::trainer ? 0 : -1, stage.cast.index);
  comm::Fabric fabric(world, links(stage.config, stage.cast),
                      stage.cast.role == Role::trainer ? landing_bytes(stage.config) : 0);
  switch (stage.cast.role) {
    case Role::server:
      return run_server(stage, fabric);
    case Role::worker:
      return run_worker(stage, fabric);
    default:
      return run_trainer(stage, fabric, trainers);
  }
}

ExitCode run_on(const comm::Communicator& world, const Request& request,
                const std::string& refusal) {
  refuse_if_any_rank_does(world, refusal);
  config::Config config = resolve_everywhere(world, request);
  if (request.action == Request::Action::print_config) {
    if (world.rank() == 0) std::fputs(config::to_ini(config).c_str(), stdout);
    return ExitCode::done;
  }
  const Cast cast = cast_everywhere(world, config, request.role);
  const RunDirectory directory(config.job.run_dir);
  const auto train_files =
      lines(on_first_rank(world, [&] { return joined(data::expand_files(config.data.train)); }));
  const auto valid_files =
      lines(on_first_rank(world, [&] { return joined(data::expand_files(config.data.valid)); }));
  const bool evaluate_only = request.action == Request::Action::evaluate;
  const std::string start_text = on_first_rank(world, [&] {
    const Start start = find_start(config, directory, evaluate_only);
    if (request.action == Request::Action::dry_run) {
      std::fputs(plan(config, cast, start).c_str(), stdout);
    } else {
      directory.create(config);
    }
    return to_text(start);
  });
  if (request.action == Request::Action::dry_run) return ExitCode::done;

  const Start start = start_from_text(start_text);
  set_up_logging(cast.identity(WorldRank{world.rank()}), directory.log().string(),
                 config.job.log_level);
  catch_stop_signals();
  const Stage stage{config, cast, start, directory, train_files, valid_files, evaluate_only};
  return play(stage, world);
}

/// Ranks often meet the same fault at the same time (a damaged file that all of them read). The
/// first to speak ends the job; the others leave it the time to, so that the fault is told once.
void wait_for_turn(int rank) {
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(rank, 20) * 50));
}

}  // namespace

ExitCode run(const Request& request, const std::string& refusal) {
  comm::Communicator world = comm::Communicator::world();
  ExitCode code = ExitCode::internal;
  std::string message;
  try {
    code = run_on(world, request, refusal);
    world.barrier();
    return code;
  } catch (const Refused& refused) {
    if (world.rank() == 0) {
      std::fprintf(stderr, "satrap: %s\n", refused.message.c_str());
      std::fflush(stderr);
    }
    world.barrier();
    return refused.code;
  } catch (const Error& error) {
    code = error.code();
    message = error.what();
  } catch (const std::exception& error) {
    message = error.what();
  }
  wait_for_turn(world.rank());
  spdlog::error(message);
  comm::abort_job(code);
}

}  // namespace satrap::job
