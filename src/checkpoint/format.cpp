#include "checkpoint/format.hpp"

#include <algorithm>
#include <charconv>

#include "checkpoint/checkpoint.hpp"
#include "core/error.hpp"

namespace satrap::checkpoint {

namespace {

/// The bytes of rows that share a checksum and are written at a time.
constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;

constexpr std::string_view kStepPrefix = "step-";

/// The names in the format, which outlive any change of the config's spelling.
std::string optimizer_name(config::Optimizer optimizer) {
  switch (optimizer) {
    case config::Optimizer::sgd:
      return "sgd";
    case config::Optimizer::adagrad:
      return "adagrad";
    case config::Optimizer::rowwise_adagrad:
      return "rowwise_adagrad";
    case config::Optimizer::adam:
      return "adam";
  }
  throw InternalError("an optimizer has no name in the checkpoint format");
}

}  // namespace

std::string server_file(ServerId server) {
  return fmt::format("server-{}.h5", raw(server));
}

std::filesystem::path step_directory(const std::filesystem::path& root, Step step) {
  return root / fmt::format("{}{}", kStepPrefix, step);
}

std::filesystem::path temporary_directory(const std::filesystem::path& root, Step step) {
  return root / fmt::format("{}{}.tmp", kStepPrefix, step);
}

std::filesystem::path replaced_directory(const std::filesystem::path& root, Step step) {
  return root / fmt::format("{}{}.old", kStepPrefix, step);
}

Step step_of(const std::filesystem::path& directory) {
  const std::string name = directory.filename();
  Step step = -1;
  if (name.rfind(kStepPrefix, 0) == 0) {
    std::from_chars(name.data() + kStepPrefix.size(), name.data() + name.size(), step);
  }
  if (step < 0) {
    throw CheckpointError(fmt::format("{} is no directory of a checkpoint", directory.string()),
                          "its name is not step-<N>");
  }
  return step;
}

void write_file_attributes(h5::File& file, const char* part, Step step) {
  file.set_attribute("format", kContentsFormat);
  file.set_attribute("version", kVersion);
  file.set_attribute("part", part);
  file.set_attribute<std::int64_t>("step", step);
}

std::int64_t TableLayout::row_bytes() const noexcept {
  constexpr std::int64_t kOthers = sizeof(FeatureId) + 2 * sizeof(std::uint32_t);
  return kOthers + static_cast<std::int64_t>(sizeof(float)) * (dim + state_floats);
}

TableLayout layout_of(const store::Table& table, TableId id) {
  TableLayout layout{.name = table.config().name,
                     .table = raw(id),
                     .optimizer = optimizer_name(table.config().optimizer),
                     .dim = table.dim(),
                     .state_floats = table.state_floats(),
                     .hash_rows = table.config().hash_rows,
                     .hash_buckets = table.config().hash_buckets,
                     .rows = table.size()};
  layout.block_rows = std::max<std::int64_t>(1, kBlockBytes / layout.row_bytes());
  return layout;
}

void write_layout(h5::Group& group, const TableLayout& layout) {
  group.set_attribute("name", layout.name);
  group.set_attribute("table", layout.table);
  group.set_attribute("optimizer", layout.optimizer);
  group.set_attribute("dim", layout.dim);
  group.set_attribute("state_floats", layout.state_floats);
  group.set_attribute("hash_rows", layout.hash_rows);
  group.set_attribute("hash_buckets", layout.hash_buckets);
  group.set_attribute("rows", layout.rows);
  group.set_attribute("block_rows", layout.block_rows);
}

TableLayout read_layout(const h5::Group& group) {
  TableLayout layout{.name = group.attribute<std::string>("name"),
                     .table = group.attribute<std::int64_t>("table"),
                     .optimizer = group.attribute<std::string>("optimizer"),
                     .dim = group.attribute<std::int64_t>("dim"),
                     .state_floats = group.attribute<std::int64_t>("state_floats"),
                     .hash_rows = group.attribute<std::int64_t>("hash_rows"),
                     .hash_buckets = group.attribute<std::int64_t>("hash_buckets"),
                     .rows = group.attribute<std::int64_t>("rows"),
                     .block_rows = group.attribute<std::int64_t>("block_rows")};
  if (layout.dim < 1 || layout.state_floats < 0 || layout.rows < 0 || layout.block_rows < 1) {
    throw CheckpointError(fmt::format("table {} has impossible sizes", layout.name));
  }
  return layout;
}

void resize(store::RowBlock& block, const TableLayout& layout, std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows);
  block.ids.resize(n);
  block.weights.resize(n * static_cast<std::size_t>(layout.dim));
  block.state.resize(n * static_cast<std::size_t>(layout.state_floats));
  block.updates.resize(n);
  block.touched.resize(n);
}

Columns Columns::create(h5::Group& group, const TableLayout& layout) {
  return {.ids = group.create_dataset<std::uint64_t>("ids", {layout.rows}),
          .weights = group.create_dataset<float>("weights", {layout.rows, layout.dim}),
          .state = group.create_dataset<float>("state", {layout.rows, layout.state_floats}),
          .updates = group.create_dataset<std::uint32_t>("updates", {layout.rows}),
          .touched = group.create_dataset<std::uint32_t>("touched", {layout.rows})};
}

Columns Columns::open(const h5::Group& group) {
  return {.ids = group.dataset("ids"),
          .weights = group.dataset("weights"),
          .state = group.dataset("state"),
          .updates = group.dataset("updates"),
          .touched = group.dataset("touched")};
}

}  // namespace satrap::checkpoint
