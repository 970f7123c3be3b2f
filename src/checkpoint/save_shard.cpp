#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/format.hpp"
#include "checkpoint/table_layout.hpp"
#include "core/error.hpp"
#include "core/file.hpp"

namespace satrap::checkpoint {

namespace {

/// Room for the attributes and dataset headers of one table, so that the rows of a table lie in
/// one piece.
constexpr std::int64_t kMetadataBytesPerTable = 8192;

struct ShardRange {
  std::uint32_t first;
  std::uint32_t end;
};

ShardRange range_of(const RowPlacement& placement, ServerId server) {
  return {placement.first_shard(server), placement.first_shard(ServerId{raw(server) + 1})};
}

/// The part of the order's offsets that belongs to the server.
std::span<const std::int64_t> shard_begin_of(const store::RowOrder& order, ShardRange range,
                                             const std::string& table) {
  const auto begin = std::span(order.shard_begin).subspan(range.first, range.end - range.first + 1);
  if (begin.front() != 0 || begin.back() != static_cast<std::int64_t>(order.rows.size())) {
    throw InternalError(fmt::format("table {} holds rows of another server's shards", table),
                        "found while saving", "this is a defect of Satrap, please report it");
  }
  return begin;
}

/// Writes all rows to their datasets, which it makes, block by block; returns the checksums
/// [blocks, columns].
std::vector<std::uint64_t> write_rows(h5::Group& group, const store::Table& table,
                                      const store::RowOrder& order, const TableLayout& layout,
                                      const std::vector<Column>& columns) {
  std::vector<h5::Dataset> datasets;
  for (const Column& column : columns) {
    datasets.push_back(group.create_dataset(column.name, column.number, column.shape(layout.rows)));
  }
  std::vector<std::uint64_t> checksums;
  store::RowBlock block;
  for (std::int64_t first = 0; first < layout.rows; first += layout.block_rows) {
    const std::int64_t count = std::min(layout.block_rows, layout.rows - first);
    table.export_rows(
        std::span(order.rows)
            .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
        block);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto bytes = columns[c].bytes(block);
      datasets[c].write_rows(first, count, bytes);
      checksums.push_back(block_checksum(bytes));
    }
  }
  return checksums;
}

void save_table(h5::Group& tables, const store::Table& table, TableId id,
                std::uint32_t virtual_shards, ShardRange range) {
  const TableLayout layout = layout_of(table, id);
  if (layout.name.empty() || layout.name == "." || layout.name.find('/') != std::string::npos) {
    throw CheckpointError(fmt::format("table \"{}\" cannot be saved", layout.name),
                          "its name is the name of an HDF5 group", "use a name without \"/\"");
  }
  const store::RowOrder order = table.order_rows(virtual_shards);
  const auto shard_begin = shard_begin_of(order, range, layout.name);

  h5::Group group = tables.create_group(layout.name);
  write_layout(group, layout);
  group.write_dataset<std::int64_t>("shard_begin", {static_cast<std::int64_t>(shard_begin.size())},
                                    shard_begin);
  const auto columns = columns_of(layout);
  auto checksums = group.create_dataset<std::uint64_t>(
      "checksums", {layout.blocks(), static_cast<std::int64_t>(columns.size())});
  checksums.write<std::uint64_t>(write_rows(group, table, order, layout, columns));

  std::vector<std::uint16_t> admission;
  table.save_admission(admission);
  if (!admission.empty()) {
    group.write_dataset<std::uint16_t>(kAdmission, {static_cast<std::int64_t>(admission.size())},
                                       admission);
  }
}

}  // namespace

void save_shard(const std::filesystem::path& directory, const RowPlacement& placement,
                ServerId server, std::span<const store::Table> tables) {
  const auto path = directory / server_file(server);
  const ShardRange range = range_of(placement, server);
  h5::File file = h5::File::create(
      path, kMetadataBytesPerTable * (1 + static_cast<std::int64_t>(tables.size())));
  write_file_attributes(file, "server", step_of(directory));
  file.set_attribute<std::int64_t>("server", raw(server));
  file.set_attribute<std::int64_t>("servers", placement.servers());
  file.set_attribute<std::int64_t>("virtual_shards", placement.virtual_shards());
  file.set_attribute<std::int64_t>("first_shard", range.first);
  file.set_attribute<std::int64_t>("end_shard", range.end);
  {
    h5::Group group = file.create_group("tables");
    for (std::size_t t = 0; t < tables.size(); ++t) {
      save_table(group, tables[t], TableId{static_cast<std::uint32_t>(t)},
                 placement.virtual_shards(), range);
    }
  }
  file.close();
  sync_path(path);
}

}  // namespace satrap::checkpoint
