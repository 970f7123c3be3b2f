// Whole jobs on one machine against what their matrix products alone would allow.
//
//   bench-end-to-end --satrap PATH --config PATH --scratch DIR [--samples N] [--repetitions N]
//
// In each repetition the bare matrix products of a step run on one core while nothing else does,
// and then each way to run the job trains one epoch of the same made-up data. Printed are the
// medians.

#include <boost/program_options.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "data/synthetic.hpp"
#include "device/threads.hpp"
#include "figure.hpp"
#include "nn/matmul_time.hpp"
#include "nn/model.hpp"
#include "trainer/train_step.hpp"

namespace satrap::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string satrap;              ///< The program.
  std::string config;              ///< Of the job, without files and roles.
  std::string scratch;             ///< Directory for data and run; made if it is not there.
  std::int64_t samples = 204'800;  ///< 100 steps
  int repetitions = 3;
};

Options parse(int argc, char** argv) {
  namespace po = boost::program_options;
  Options options;
  po::options_description keys;
  keys.add_options()("satrap", po::value(&options.satrap)->required())(
      "config", po::value(&options.config)->required())(
      "scratch", po::value(&options.scratch)->required())("samples", po::value(&options.samples))(
      "repetitions", po::value(&options.repetitions));
  try {
    po::variables_map given;
    po::store(po::parse_command_line(argc, argv, keys), given);
    po::notify(given);
  } catch (const po::error& error) {
    throw ConfigError(fmt::format("command line: {}", error.what()));
  }
  if (options.repetitions < 1) {
    throw ConfigError(fmt::format("command line: {} repetitions", options.repetitions), {},
                      "use --repetitions 1 or more");
  }
  return options;
}

/// A way to run the job on this machine.
struct Way {
  std::string name;
  int ranks;
  std::string settings;
  std::vector<double> rates;  ///< Samples per second of each repetition.
};

class EndToEnd {
 public:
  explicit EndToEnd(Options options)
      : options_(std::move(options)),
        data_(fs::path(options_.scratch) / "train.tsv"),
        config_(read_config()),
        products_(nn::make_model(config_.model, trainer::model_shape(config_), 1)->linear_shapes(),
                  config_.train.global_batch) {
    fs::create_directories(options_.scratch);
    data::SyntheticOptions synthetic;
    synthetic.train_path = data_;
    synthetic.valid_path = fs::path(options_.scratch) / "valid.tsv";
    synthetic.train_samples = options_.samples;
    synthetic.valid_samples = 1000;
    synthetic.teacher.vocabulary = 100'000;
    data::make_synthetic_data(synthetic);
    products_.run();  // compiles
  }

  void run() {
    std::vector<double> limit;
    for (int i = 0; i < options_.repetitions; ++i) {
      limit.push_back(products_per_second());
      for (Way& way : ways_) way.rates.push_back(train(way));
    }
    const double hybrid = median(ways_[0].rates);
    print({ways_[0].name, hybrid, "samples/s", "matrix-products", median(limit), 0.7});
    for (std::size_t i = 1; i < ways_.size(); ++i) {
      print({ways_[i].name, median(ways_[i].rates), "samples/s", ways_[0].name, hybrid, {}});
    }
  }

 private:
  config::Config read_config() const {
    auto settings = config::read_ini(options_.config);
    settings.push_back({"data.train", data_.string(), "bench-end-to-end"});
    return config::resolve(settings);
  }

  /// Samples whose matrix products one core does in a second.
  double products_per_second() {
    constexpr double kSeconds = 2;
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    std::chrono::duration<double> passed{};
    std::int64_t samples = 0;
    do {
      products_.run();
      samples += config_.train.global_batch;
      passed = Clock::now() - start;
    } while (passed.count() < kSeconds);
    return static_cast<double>(samples) / passed.count();
  }

  /// Samples per second of one epoch, from the end of the first step.
  double train(const Way& way) const {
    const fs::path run = fs::path(options_.scratch) / way.name;
    const std::string output = run.string() + ".txt";
    fs::remove_all(run);
    const std::string command = fmt::format(
        "mpirun -n {} --oversubscribe --bind-to none '{}' train '{}' --data.train='{}' "
        "--job.run_dir='{}' {} >'{}' 2>&1",
        way.ranks, options_.satrap, options_.config, data_.string(), run.string(), way.settings,
        output);
    if (std::system(command.c_str()) != 0) {
      throw InternalError(fmt::format("the job {} failed", way.name),
                          fmt::format("what it printed is in {}", output));
    }
    std::ifstream in(run / "summary.json");
    return nlohmann::json::parse(in).at("samples_per_second").get<double>();
  }

  Options options_;
  fs::path data_;
  config::Config config_;
  nn::BareProducts products_;
  std::vector<Way> ways_{
      {"end-to-end", 2, "--roles.servers=1", {}},
      {"end-to-end-worker", 3, "--roles.servers=1 --roles.workers=1", {}},
      {"end-to-end-sync", 2, "--roles.servers=1 --train.mode=sync --train.staleness=default", {}},
  };
};

}  // namespace
}  // namespace satrap::bench

int main(int argc, char** argv) {
  try {
    satrap::device::set_compute_threads(1);
    satrap::bench::EndToEnd(satrap::bench::parse(argc, argv)).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench-end-to-end: {}\n", error.what());
    return static_cast<int>(satrap::to_fault(error).code);
  }
  return 0;
}
