#include "checkpoint/table_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <type_traits>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace satrap::checkpoint {

namespace {

/// The bytes of rows that share a checksum and are written at a time.
constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;

/// The names in the format, which outlive any change of the config's spelling.
const char* optimizer_name(config::Optimizer optimizer) {
  switch (optimizer) {
    case config::Optimizer::sgd:
      return "sgd";
    case config::Optimizer::adagrad:
      return "adagrad";
    case config::Optimizer::rowwise_adagrad:
      return "rowwise_adagrad";
    case config::Optimizer::adam:
      return "adam";
    case config::Optimizer::rowwise_adam:
      return "rowwise_adam";
    case config::Optimizer::ftrl:
      return "ftrl";
    case config::Optimizer::lamb:
      return "lamb";
  }
  throw InternalError("an optimizer has no name in the checkpoint format");
}

struct StorageFormat {
  config::Storage storage;
  const char* name;
  h5::Number number;  ///< HDF5 has no bf16: its bits stand there.
};
constexpr StorageFormat kStorages[] = {{config::Storage::fp32, "fp32", h5::Number::float32},
                                       {config::Storage::fp16, "fp16", h5::Number::float16},
                                       {config::Storage::bf16, "bf16", h5::Number::uint16},
                                       {config::Storage::int8, "int8", h5::Number::int8}};

const StorageFormat& format_of(config::Storage storage) {
  return *std::ranges::find(kStorages, storage, &StorageFormat::storage);
}

config::Storage read_storage(const h5::Group& group, const char* attribute) {
  const auto name = group.attribute<std::string>(attribute);
  for (const StorageFormat& format : kStorages) {
    if (format.name == name) return format.storage;
  }
  throw CheckpointError(fmt::format("unknown {} {}", attribute, name));
}

template <auto kMember>
Column column(const char* name, h5::Number number, h5::Shape entry = {}) {
  // Ids and numbers are only ever moved as bytes, which in the file are little-endian.
  static_assert(std::endian::native == std::endian::little);
  return {
      .name = name,
      .number = number,
      .entry = std::move(entry),
      .bytes =
          [](store::RowBlock& block) { return std::as_writable_bytes(std::span(block.*kMember)); },
      .resize =
          [](store::RowBlock& block, std::size_t bytes) {
            auto& values = block.*kMember;
            values.resize(bytes / sizeof(values[0]));
          }};
}

}  // namespace

TableLayout layout_of(const store::Table& table, TableId id) {
  TableLayout layout{.name = table.config().name,
                     .table = raw(id),
                     .optimizer = optimizer_name(table.config().optimizer),
                     .dim = table.dim(),
                     .storage = table.config().storage,
                     .state_values = table.state_values(),
                     .state_storage = table.state_storage(),
                     .has_updates = table.layout().has_updates,
                     .hash_rows = table.config().hash_rows,
                     .hash_buckets = table.config().hash_buckets,
                     .rows = table.size()};
  const auto columns = columns_of(layout);
  const auto row_bytes = std::accumulate(
      columns.begin(), columns.end(), std::size_t{0},
      [](std::size_t sum, const Column& column) { return sum + column.entry_bytes(); });
  layout.block_rows = std::max<std::int64_t>(1, kBlockBytes / static_cast<std::int64_t>(row_bytes));
  return layout;
}

void write_layout(h5::Group& group, const TableLayout& layout) {
  group.set_attribute("name", layout.name);
  group.set_attribute("table", layout.table);
  group.set_attribute("optimizer", layout.optimizer);
  group.set_attribute("dim", layout.dim);
  group.set_attribute("storage", format_of(layout.storage).name);
  group.set_attribute("state_values", layout.state_values);
  group.set_attribute("state_storage", format_of(layout.state_storage).name);
  group.set_attribute<std::int64_t>("has_updates", layout.has_updates ? 1 : 0);
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
                     .storage = read_storage(group, "storage"),
                     .state_values = group.attribute<std::int64_t>("state_values"),
                     .state_storage = read_storage(group, "state_storage"),
                     .has_updates = group.attribute<std::int64_t>("has_updates") != 0,
                     .hash_rows = group.attribute<std::int64_t>("hash_rows"),
                     .hash_buckets = group.attribute<std::int64_t>("hash_buckets"),
                     .rows = group.attribute<std::int64_t>("rows"),
                     .block_rows = group.attribute<std::int64_t>("block_rows")};
  if (layout.dim < 1 || layout.state_values < 0 || layout.rows < 0 || layout.block_rows < 1) {
    throw CheckpointError(fmt::format("table {} has impossible sizes", layout.name));
  }
  return layout;
}

h5::Shape Column::shape(std::int64_t rows) const {
  h5::Shape shape = {rows};
  shape.insert(shape.end(), entry.begin(), entry.end());
  return shape;
}

std::vector<Column> columns_of(const TableLayout& layout) {
  using Block = store::RowBlock;
  using h5::Number;
  std::vector<Column> columns = {
      column<&Block::ids>("ids", Number::uint64),
      column<&Block::weights>("weights", format_of(layout.storage).number, {layout.dim})};
  if (layout.storage == config::Storage::int8) {
    columns.push_back(column<&Block::scales>("scales", Number::float32));
  }
  columns.push_back(column<&Block::state>("state", format_of(layout.state_storage).number,
                                          {layout.state_values}));
  if (layout.has_updates) columns.push_back(column<&Block::updates>("updates", Number::uint32));
  columns.push_back(column<&Block::touched>("touched", Number::uint64));
  return columns;
}

std::uint64_t block_checksum(std::span<const std::byte> bytes) {
  return hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace satrap::checkpoint
