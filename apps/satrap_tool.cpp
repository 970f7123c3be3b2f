// satrap-tool: serial helpers: makes synthetic data, looks into checkpoints, tries what a store
// holds.

#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "config/value.hpp"
#include "core/error.hpp"
#include "core/processor.hpp"
#include "data/synthetic.hpp"
#include "store/capacity/report.hpp"

namespace {

namespace po = boost::program_options;
using satrap::ConfigError;

constexpr const char* kUsage = R"(usage: satrap-tool make-data [--train PATH] [--valid PATH] [...]
       satrap-tool inspect CHECKPOINT
       satrap-tool verify CHECKPOINT
       satrap-tool capacity [--memory BYTES] [--dim N] [--sweep] [...]

make-data   writes Criteo-format files whose labels a planted model draws, and prints the best AUC and log
            loss that any model can reach on the second one
inspect     prints what a checkpoint directory step-<N> holds
verify      reads every byte of a checkpoint and compares it with its checksums
capacity    trains a table of limited memory on ids of a large space, until it is full and beyond, and prints
            what it holds and how fast it is
)";

po::variables_map parse(const std::vector<std::string>& arguments,
                        const po::options_description& options,
                        const po::positional_options_description& positional) {
  po::variables_map given;
  try {
    namespace style = po::command_line_style;
    po::store(po::command_line_parser(arguments)
                  .options(options)
                  .positional(positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              given);
    po::notify(given);
  } catch (const po::error& error) {
    throw ConfigError(fmt::format("command line: {}", error.what()), {},
                      "satrap-tool --help tells what can be said");
  }
  return given;
}

void make_data(const std::vector<std::string>& arguments) {
  satrap::data::SyntheticOptions made;
  auto& teacher = made.teacher;
  po::options_description options("options of make-data", 100);
  const auto add = [&](const char* name, auto& value, const char* meaning) {
    options.add_options()(name, po::value(&value)->default_value(value), meaning);
  };
  add("train", made.train_path, "training file; compressed if it ends in .gz");
  add("valid", made.valid_path, "evaluation file");
  add("train-samples", made.train_samples, "samples in the training file");
  add("valid-samples", made.valid_samples, "samples in the evaluation file");
  add("seed", teacher.seed, "of the planted model and the samples");
  add("vocabulary", teacher.vocabulary, "ids per slot");
  add("zipf-exponent", teacher.zipf_exponent, "P(id of rank r) ~ r^-exponent; 0 is uniform");
  add("informative-slots", teacher.informative_slots, "slots that move the label");
  add("rank", teacher.rank, "of the planted interactions");
  add("frequent-ids", teacher.frequent_ids, "the id of this rank has half the signal of the first");
  add("base-rate", teacher.base_rate, "share of label 1");
  add("bias-scale", teacher.bias_scale, "size of the terms of single ids");
  add("interaction-scale", teacher.interaction_scale, "size of the terms of pairs of ids");
  add("dense-scale", teacher.dense_scale, "size of the terms of the integers");
  options.add_options()("help,h", "this text");
  if (parse(arguments, options, {}).count("help") != 0) {
    std::cout << options;
    return;
  }
  const auto best = satrap::data::make_synthetic_data(made);
  std::cout << fmt::format("{}: {} samples\n{}: {} samples, base rate {:.4f}\n", made.train_path,
                           made.train_samples, made.valid_path, made.valid_samples, best.base_rate);
  std::cout << fmt::format("best possible on {}: AUC {}, log loss {:.5f}\n", made.valid_path,
                           best.auc ? fmt::format("{:.5f}", *best.auc) : "undefined",
                           best.log_loss);
}

std::string checkpoint_argument(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) {
    throw ConfigError(fmt::format("command line: {} checkpoints given", arguments.size()), {},
                      "give the path of one directory step-<N>");
  }
  const std::filesystem::path path = arguments[0];
  for (const auto& root : {path, path / "checkpoints"}) {
    if (const auto found = satrap::checkpoint::newest(root)) {
      throw satrap::CheckpointError(
          fmt::format("{} is not a checkpoint", path.string()), {},
          fmt::format("give one directory step-<N>, e.g. {}", found->string()));
    }
  }
  return path;
}

void inspect(const std::string& path) {
  const auto info = satrap::checkpoint::describe(path);
  std::cout << fmt::format(
      "step            {}\nsamples         {}\ndata position   epoch {}, sample {}\n"
      "seed            {}\nwritten by      {} servers, {} virtual shards\nsize            {} "
      "bytes\n"
      "dense           {} floats\n",
      info.step, info.samples, info.position.epoch, info.position.sample, info.seed, info.servers,
      info.virtual_shards, info.bytes, info.dense_floats);
  for (const auto& table : info.tables) {
    std::cout << fmt::format(
        "table {:<16}  {} rows, dim {} in {}, {} with {} {} of state per row\n", table.name,
        table.rows, table.dim, satrap::config::name_of(table.storage), table.optimizer,
        table.state_values, satrap::config::name_of(table.state_storage));
  }
}

template <class E>
void parse_choice(const std::string& option, const std::string& text, E& value) {
  try {
    satrap::config::parse_value(text, value);
  } catch (const satrap::config::BadValue& bad) {
    std::vector<std::string_view> choices;
    for (const auto& choice : satrap::config::Spellings<E>::all) choices.push_back(choice.text);
    throw ConfigError(fmt::format("command line: {} {} {}", option, text, bad.problem), {},
                      fmt::format("use {}", fmt::join(choices, ", ")));
  }
}

void capacity(const std::vector<std::string>& arguments) {
  namespace store = satrap::store;
  store::CapacityOptions o;
  po::options_description options("options of capacity", 100);
  const auto add = [&](const char* name, auto& value, const char* meaning) {
    options.add_options()(name, po::value(&value)->default_value(value), meaning);
  };
  const auto add_text = [&](const char* name, std::string_view text, const char* meaning,
                            auto parse) {
    auto* const value = po::value<std::string>()->default_value(std::string(text));
    value->notifier([=](const std::string& given) { parse(fmt::format("--{}", name), given); });
    options.add_options()(name, value, meaning);
  };
  const auto add_amount = [&](const char* name, std::string_view text, std::int64_t base,
                              std::int64_t& value, const char* meaning) {
    add_text(name, text, meaning, [base, &value](const auto& option, const auto& given) {
      value = store::parse_amount(option, given, base);
    });
  };
  const auto add_choice = [&](const char* name, auto& value, const char* meaning) {
    add_text(
        name, satrap::config::name_of(value), meaning,
        [&value](const auto& option, const auto& given) { parse_choice(option, given, value); });
  };
  add_amount("memory", "1G", 1024, o.table.capacity_bytes,
             "bytes of the table; K, M, G and T are powers of 1024");
  add("dim", o.table.dim, "weights per row");
  add_amount("ids", "1T", 1000, o.ids, "of the id space; K, M, G and T are powers of 1000");
  add_choice("storage", o.table.storage, "of weights: fp32, fp16, bf16 or int8");
  add_choice("optimizer", o.table.optimizer, "as table.NAME.optimizer");
  add_choice("eviction", o.table.eviction, "lru or lfu");
  add("admit-after", o.table.admit_after, "the appearance that earns an id its row");
  add("batch", o.batch, "ids drawn per step, duplicates included");
  add("zipf", o.zipf_exponent, "P(id of rank r) ~ r^-zipf");
  add("seconds", o.seconds, "that a stage is measured for, at most");
  add("seed", o.seed, "of ids, rows and gradients");
  options.add_options()("sweep", "id spaces of 6.25 to 100 trillion parameters, in this memory");
  options.add_options()("help,h", "this text");
  const auto given = parse(arguments, options, {});
  if (given.count("help") != 0) {
    std::cout << options;
  } else if (given.count("sweep") != 0) {
    if (!given["ids"].defaulted()) {
      throw satrap::ConfigError("command line: --ids has no effect with --sweep",
                                "the sweep has id spaces of its own", "leave one of them out");
    }
    store::report_sweep(o, std::cout, std::cerr);
  } else {
    store::report_capacity(o, std::cout, std::cerr);
  }
}

void run(const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "--help" : words[0];
  const std::vector<std::string> arguments(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (what == "make-data") {
    make_data(arguments);
  } else if (what == "inspect") {
    inspect(checkpoint_argument(arguments));
  } else if (what == "verify") {
    const std::string path = checkpoint_argument(arguments);
    satrap::checkpoint::verify(path);
    std::cout << path << ": every checksum agrees\n";
  } else if (what == "capacity") {
    capacity(arguments);
  } else if (what == "--help" || what == "-h") {
    std::cout << kUsage;
  } else {
    throw ConfigError(fmt::format("command line: {} is not something that satrap-tool does", what),
                      {}, "satrap-tool --help tells what can be said");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    satrap::check_processor();
    run(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const std::exception& error) {
    const satrap::Fault fault = satrap::to_fault(error);
    std::fprintf(stderr, "satrap-tool: %s\n", fault.message.c_str());
    return static_cast<int>(fault.code);
  }
}
