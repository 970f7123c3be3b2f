#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/format.hpp"
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

/// Writes all rows, block by block; returns the checksums [blocks, columns].
std::vector<std::uint64_t> write_rows(const store::Table& table, const store::RowOrder& order,
                                      const TableLayout& layout, Columns& columns) {
  std::vector<std::uint64_t> checksums;
  store::RowBlock block;
  for (std::int64_t first = 0; first < layout.rows; first += layout.block_rows) {
    const std::int64_t count = std::min(layout.block_rows, layout.rows - first);
    table.export_rows(
        std::span(order.rows)
            .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
        block);
    for_each_column(columns, block, [&]<class T>(h5::Dataset& column, std::span<T> values) {
      column.write_rows<T>(first, count, values);
      checksums.push_back(block_checksum(values));
    });
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
  auto checksums = group.create_dataset<std::uint64_t>("checksums", {layout.blocks(), kColumns});
  Columns columns = Columns::create(group, layout);
  checksums.write<std::uint64_t>(write_rows(table, order, layout, columns));
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
