#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace satrap::test {

/// A fresh, empty directory for one test, named after it; removed by the destructor unless the test
/// failed.
class Scratch {
 public:
  Scratch();
  ~Scratch();

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// $SATRAP_SOURCE/configs/<name>.
std::filesystem::path config_file(const std::string& name);
/// A real data file below $SATRAP_DATA (default: $SATRAP_DATA_DEFAULT), if it is there.
std::optional<std::filesystem::path> real_data(const std::string& name);

/// mpirun of `ranks` ranks of satrap with `arguments`.
std::vector<std::string> mpirun(int ranks, const std::vector<std::string>& arguments);
/// satrap-tool with `arguments`.
std::vector<std::string> tool(const std::vector<std::string>& arguments);

/// The lines of <run>/metrics.jsonl of one kind.
std::vector<nlohmann::json> metrics(const std::filesystem::path& run, const std::string& kind);
/// step -> loss, bit for bit.
std::map<std::int64_t, double> losses(const std::filesystem::path& run);
nlohmann::json summary(const std::filesystem::path& run);

/// Writes a small learnable Criteo-format data set to scratch/train.tsv and valid.tsv; returns the
/// best AUC that a model can reach on the latter.
double make_data(const Scratch& scratch, std::int64_t train_samples, std::int64_t valid_samples,
                 const std::vector<std::string>& options = {});

/// A config of a small DLRM on that data; its run directory is scratch/run unless the arguments say
/// otherwise. Returns its path.
std::filesystem::path small_config(const Scratch& scratch);

}  // namespace satrap::test
