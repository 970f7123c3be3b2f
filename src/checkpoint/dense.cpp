#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/contents.hpp"
#include "checkpoint/format.hpp"
#include "core/error.hpp"
#include "core/file.hpp"

namespace satrap::checkpoint {

namespace {

/// The shapes of all datasets below `group`, by path.
void collect_shapes(const h5::Group& group, const std::string& prefix,
                    std::map<std::string, h5::Shape>& shapes) {
  for (const auto& name : group.children()) {
    if (group.is_group(name)) {
      collect_shapes(group.group(name), prefix + name + "/", shapes);
    } else {
      shapes[prefix + name] = group.dataset(name).shape();
    }
  }
}

/// What differs between the arrays of the file and those expected; empty: nothing.
std::string difference(std::map<std::string, h5::Shape> saved,
                       const std::vector<NamedArray>& expected) {
  std::vector<std::string> differences;
  for (const auto& array : expected) {
    const auto found = saved.find(array.name);
    if (found == saved.end()) {
      differences.push_back(fmt::format("{} is missing", array.name));
      continue;
    }
    if (found->second != array.shape) {
      differences.push_back(fmt::format("{} has the shape [{}] instead of [{}]", array.name,
                                        fmt::join(found->second, ", "),
                                        fmt::join(array.shape, ", ")));
    }
    saved.erase(found);
  }
  for (const auto& [name, shape] : saved) differences.push_back(fmt::format("{} is extra", name));
  constexpr std::size_t kShown = 5;
  if (differences.size() > kShown) {
    const auto more = differences.size() - kShown;
    differences.resize(kShown);
    differences.push_back(fmt::format("{} more", more));
  }
  return fmt::format("{}", fmt::join(differences, ", "));
}

}  // namespace

void save_dense(const std::filesystem::path& directory, const DenseState& state) {
  const auto path = directory / kDenseFile;
  h5::File file = h5::File::create(path);
  write_file_attributes(file, "dense", state.step);
  file.set_attribute("epoch", state.position.epoch);
  file.set_attribute("sample", state.position.sample);
  file.set_attribute("samples", state.samples);
  file.set_attribute("seed", state.seed);
  file.set_attribute("config", state.config_ini);
  {
    h5::Group arrays = file.create_group("arrays");
    for (const auto& array : state.arrays) {
      arrays.write_dataset<float>(array.name, array.shape, array.values);
    }
  }
  file.close();
  sync_path(path);
}

void load_dense(const std::filesystem::path& checkpoint, DenseState& state) {
  const Contents contents = read_contents(checkpoint);
  // The top file is for other readers; a damaged one is still a damaged checkpoint.
  check_header(checkpoint, find_file(checkpoint, contents, kTopFile));
  const h5::File file = open_checked(checkpoint, find_file(checkpoint, contents, kDenseFile));
  const h5::Group arrays = file.group("arrays");

  std::map<std::string, h5::Shape> saved;
  collect_shapes(arrays, "", saved);
  const std::string differences = difference(std::move(saved), state.arrays);
  if (!differences.empty()) {
    throw CheckpointError(
        fmt::format("{} does not fit the config", (checkpoint / kDenseFile).string()), differences,
        "use the [model] and [dense_optimizer] that the checkpoint was made with");
  }

  state.step = file.attribute<std::int64_t>("step");
  state.position = {file.attribute<std::int64_t>("epoch"), file.attribute<std::int64_t>("sample")};
  state.samples = file.attribute<std::int64_t>("samples");
  state.seed = file.attribute<std::uint64_t>("seed");
  for (auto& array : state.arrays) {
    const h5::Dataset dataset = arrays.dataset(array.name);
    dataset.read(array.values);
  }
}

}  // namespace satrap::checkpoint
