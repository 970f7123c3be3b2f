#include "checkpoint/top_file.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "checkpoint/format.hpp"
#include "checkpoint/table_layout.hpp"
#include "core/error.hpp"
#include "core/file.hpp"

namespace satrap::checkpoint {

namespace {

/// A table over all servers.
struct WholeTable {
  TableLayout layout;  ///< As in the first server's file, but with all rows.
  std::vector<std::pair<std::string, std::int64_t>> parts;  ///< Server file and its rows.
};

/// One server's file, as far as the whole depends on it.
struct ServerFile {
  std::int64_t servers;
  std::int64_t virtual_shards;
  FileEntry entry;
  std::vector<TableLayout> tables;
};

[[noreturn]] void unfit(const std::filesystem::path& path, const std::string& why) {
  throw CheckpointError(fmt::format("{} does not fit the checkpoint", path.string()), why);
}

ServerFile read_server_file(const std::filesystem::path& path, Step step) {
  const h5::File file = h5::File::open(path);
  if (file.attribute<std::int64_t>("step") != step) unfit(path, "it is of another step");
  ServerFile server{.servers = file.attribute<std::int64_t>("servers"),
                    .virtual_shards = file.attribute<std::int64_t>("virtual_shards"),
                    .entry = {},
                    .tables = {}};
  std::vector<Extent> rows;
  const h5::Group tables = file.group("tables");
  for (const auto& name : tables.children()) {
    const h5::Group group = tables.group(name);
    server.tables.push_back(read_layout(group));
    for (const Column& column : columns_of(server.tables.back())) {
      rows.push_back(group.dataset(column.name).extent());
    }
  }
  server.entry = describe_file(path, std::move(rows));
  server.entry.first_shard = file.attribute<std::int64_t>("first_shard");
  server.entry.end_shard = file.attribute<std::int64_t>("end_shard");
  return server;
}

/// Adds one server's rows; the first server says which tables there are.
void add(std::vector<WholeTable>& whole, const ServerFile& server,
         const std::filesystem::path& path, bool first) {
  if (first) {
    for (const auto& layout : server.tables) whole.push_back({layout, {}});
    for (auto& table : whole) table.layout.rows = 0;
  }
  if (server.tables.size() != whole.size()) unfit(path, "it has other tables than server 0");
  for (std::size_t t = 0; t < whole.size(); ++t) {
    TableLayout expected = server.tables[t];
    expected.rows = whole[t].layout.rows;
    if (expected != whole[t].layout) {
      unfit(path, fmt::format("table {} differs from server 0's", expected.name));
    }
    whole[t].layout.rows += server.tables[t].rows;
    whole[t].parts.emplace_back(server.entry.name, server.tables[t].rows);
  }
}

void show_table(h5::Group& tables, const WholeTable& table) {
  h5::Group group = tables.create_group(table.layout.name);
  write_layout(group, table.layout);
  const auto parts_of = [&](const char* column) {
    std::vector<h5::VirtualPart> parts;
    for (const auto& [file, rows] : table.parts) {
      parts.push_back({file, fmt::format("/tables/{}/{}", table.layout.name, column), rows});
    }
    return parts;
  };
  for (const Column& column : columns_of(table.layout)) {
    group.create_virtual(column.name, column.number, column.shape(table.layout.rows),
                         parts_of(column.name));
  }
}

void check_dense(const std::filesystem::path& path, Step step) {
  if (h5::File::open(path).attribute<std::int64_t>("step") != step) {
    unfit(path, "it is of another step");
  }
}

}  // namespace

Contents write_top_file(const std::filesystem::path& directory, Step step) {
  Contents contents{.step = step, .virtual_shards = 0, .files = {}};
  std::vector<WholeTable> whole;
  std::int64_t servers = 1;
  std::int64_t next_shard = 0;
  for (std::int64_t k = 0; k < servers; ++k) {
    const auto path = directory / server_file(ServerId{static_cast<std::int32_t>(k)});
    ServerFile server = read_server_file(path, step);
    if (k == 0) {
      servers = server.servers;
      contents.virtual_shards = server.virtual_shards;
    }
    if (server.servers != servers || server.virtual_shards != contents.virtual_shards ||
        server.entry.first_shard != next_shard) {
      unfit(path, "its virtual shards do not follow those of the server before");
    }
    next_shard = server.entry.end_shard;
    add(whole, server, path, k == 0);
    contents.files.push_back(std::move(server.entry));
  }

  check_dense(directory / kDenseFile, step);
  contents.files.push_back(describe_file(directory / kDenseFile, {}));

  const auto path = directory / kTopFile;
  h5::File file = h5::File::create(path);
  write_file_attributes(file, "top", step);
  file.set_attribute("servers", servers);
  file.set_attribute("virtual_shards", contents.virtual_shards);
  {
    h5::Group tables = file.create_group("tables");
    for (const auto& table : whole) show_table(tables, table);
  }
  file.link("dense", kDenseFile, "/");
  file.close();
  sync_path(path);
  contents.files.push_back(describe_file(path, {}));
  return contents;
}

}  // namespace satrap::checkpoint
