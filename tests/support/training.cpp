#include "support/training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace satrap::test {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string program(const std::string& name) {
  return environment("SATRAP_BIN") + "/" + name;
}

}  // namespace

Scratch::Scratch() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string("satrap-") + test->test_suite_name() + "-" + test->name();
  std::replace(name.begin(), name.end(), '/', '-');
  path_ = std::filesystem::temp_directory_path() / name;
  std::filesystem::remove_all(path_);
  std::filesystem::create_directories(path_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!testing::Test::HasFailure()) std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path config_file(const std::string& name) {
  return std::filesystem::path(environment("SATRAP_SOURCE")) / "configs" / name;
}

std::optional<std::filesystem::path> real_data(const std::string& name) {
  std::string root = environment("SATRAP_DATA");
  if (root.empty()) root = environment("SATRAP_DATA_DEFAULT");
  const auto path = std::filesystem::path(root) / name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path;
}

std::vector<std::string> mpirun(int ranks, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"mpirun", "--oversubscribe",     "--bind-to",      "none",
                                  "-n",     std::to_string(ranks), program("satrap")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

std::vector<std::string> tool(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {program("satrap-tool")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

std::vector<nlohmann::json> metrics(const std::filesystem::path& run, const std::string& kind) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(run / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    auto json = nlohmann::json::parse(line);
    if (json.at("kind") == kind) lines.push_back(std::move(json));
  }
  return lines;
}

std::map<std::int64_t, double> losses(const std::filesystem::path& run) {
  std::map<std::int64_t, double> result;
  for (const auto& line : metrics(run, "step")) result[line.at("step")] = line.at("loss");
  return result;
}

nlohmann::json summary(const std::filesystem::path& run) {
  std::ifstream in(run / "summary.json");
  return nlohmann::json::parse(in);
}

double make_data(const Scratch& scratch, std::int64_t train_samples, std::int64_t valid_samples,
                 const std::vector<std::string>& options) {
  auto arguments = std::vector<std::string>{"make-data",
                                            "--train",
                                            scratch / "train.tsv",
                                            "--valid",
                                            scratch / "valid.tsv",
                                            "--train-samples",
                                            std::to_string(train_samples),
                                            "--valid-samples",
                                            std::to_string(valid_samples)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Ended made = run(tool(arguments));
  const auto at = made.output.find("AUC ");
  if (made.code != 0 || at == std::string::npos) throw std::runtime_error(made.output);
  return std::strtod(made.output.c_str() + at + 4, nullptr);
}

std::filesystem::path small_config(const Scratch& scratch) {
  const auto path = scratch / "small.ini";
  std::ofstream(path) << "[job]\nrun_dir = " << (scratch / "run").string() << "\n"
                      << "[data]\ntrain = " << (scratch / "train.tsv").string()
                      << "\nvalid = " << (scratch / "valid.tsv").string() << "\n"
                      << "shuffle_window = 1000\n"
                      << "[model]\nkind = dlrm\nbottom = 32\ntop = 32\n"
                      << "[train]\nglobal_batch = 256\n"
                      << "[dense_optimizer]\nkind = adam\nlr = 0.002\n"
                      << "[table.*]\ndim = 8\noptimizer = adagrad\nlr = 0.05\n";
  return path;
}

}  // namespace satrap::test
