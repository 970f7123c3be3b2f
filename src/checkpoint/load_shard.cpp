#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/contents.hpp"
#include "checkpoint/format.hpp"
#include "checkpoint/rows.hpp"
#include "checkpoint/table_layout.hpp"
#include "core/error.hpp"
#include "core/log.hpp"

namespace satrap::checkpoint {

namespace {

[[noreturn]] void differs(const std::filesystem::path& file, const std::string& why) {
  throw CheckpointError(fmt::format("{} does not fit the config", file.string()), why,
                        "use the config that the checkpoint was made with, or another job.run_dir "
                        "for a new run");
}

void check_layout(const std::filesystem::path& file, const TableLayout& saved,
                  const TableLayout& wanted) {
  const auto check = [&](const char* what, const auto& in_file, const auto& in_config) {
    if (in_file == in_config) return;
    differs(file, fmt::format("table {} has {} {} in the checkpoint and {} in the config",
                              wanted.name, what, in_file, in_config));
  };
  check("the dim", saved.dim, wanted.dim);
  check("the optimizer", saved.optimizer, wanted.optimizer);
  check("the storage", config::name_of(saved.storage), config::name_of(wanted.storage));
  check("the number of state values", saved.state_values, wanted.state_values);
  check("moments of type", config::name_of(saved.state_storage),
        config::name_of(wanted.state_storage));
  // Of two tables with the same optimizer, only this makes one of them count updates.
  const auto correction = [](bool row) { return row ? "row" : "global"; };
  check("bias_correction", correction(saved.has_updates), correction(wanted.has_updates));
  // Other ones make other rows of the same ids.
  check("hash_rows", saved.hash_rows, wanted.hash_rows);
  check("hash_buckets", saved.hash_buckets, wanted.hash_buckets);
  check("the place in the list of tables", saved.table,
        wanted.table);  // moves every row to another virtual shard
}

void check_names(const std::filesystem::path& file, const h5::Group& tables,
                 std::span<const store::Table> wanted) {
  auto saved = tables.children();
  for (const auto& table : wanted) {
    if (std::erase(saved, table.config().name) == 0) {
      differs(file, fmt::format("the checkpoint has no table {}", table.config().name));
    }
  }
  if (!saved.empty()) {
    differs(file, fmt::format("the config has no table {}", saved.front()));
  }
}

void check_virtual_shards(const std::filesystem::path& checkpoint, std::int64_t saved,
                          std::int64_t wanted) {
  if (saved == wanted) return;
  differs(checkpoint, fmt::format("checkpoint.virtual_shards was {} and is {}", saved, wanted));
}

/// False if `group` has appearances of ids without rows and `table` goes on without them.
bool restore_admission(const h5::Group& group, bool same_shard, store::Table& table) {
  if (table.config().admit_after <= 1 || !group.has(kAdmission)) return true;
  return same_shard && table.restore_admission(group.dataset(kAdmission).read<std::uint16_t>());
}

/// Imports the rows of virtual shards [first, end) of one file, and the appearances if they are all
/// that the server owns and the file has. Returns the names of the tables that lose theirs.
std::vector<std::string> load_file(const std::filesystem::path& checkpoint, const FileEntry& entry,
                                   std::int64_t first, std::int64_t end, bool same_shard,
                                   std::span<store::Table> tables) {
  const auto path = checkpoint / entry.name;
  const h5::File file = open_checked(checkpoint, entry);
  const h5::Group groups = file.group("tables");
  check_names(path, groups, tables);
  std::vector<std::string> counted_anew;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto& name = tables[t].config().name;
    const h5::Group group = groups.group(name);
    RowReader reader(checkpoint, entry.name, group);
    check_layout(path, reader.layout(),
                 layout_of(tables[t], TableId{static_cast<std::uint32_t>(t)}));
    reader.select_shards(first - entry.first_shard, end - entry.first_shard);
    store::RowBlock block;
    while (reader.next(block)) tables[t].import_rows(block);
    if (!restore_admission(group, same_shard, tables[t])) counted_anew.push_back(name);
  }
  return counted_anew;
}

/// "table C1, C2", but not all of many.
std::string names_of(const std::vector<std::string>& tables) {
  constexpr std::size_t kMost = 3;
  const std::span first(tables.data(), std::min(tables.size(), kMost));
  const auto names = fmt::format("{}", fmt::join(first, ", "));
  return tables.size() <= kMost ? fmt::format("table {}", names)
                                : fmt::format("{} tables ({}, ...)", tables.size(), names);
}

}  // namespace

void check_tables(const std::filesystem::path& checkpoint, std::int64_t virtual_shards,
                  std::span<const store::Table> tables) {
  const Contents contents = read_contents(checkpoint);
  check_virtual_shards(checkpoint, contents.virtual_shards, virtual_shards);
  const h5::File top = open_checked(checkpoint, find_file(checkpoint, contents, kTopFile));
  const h5::Group groups = top.group("tables");
  check_names(checkpoint, groups, tables);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    check_layout(checkpoint, read_layout(groups.group(tables[t].config().name)),
                 layout_of(tables[t], TableId{static_cast<std::uint32_t>(t)}));
  }
}

void load_shard(const std::filesystem::path& checkpoint, const RowPlacement& placement,
                ServerId server, std::span<store::Table> tables) {
  const Contents contents = read_contents(checkpoint);
  check_virtual_shards(checkpoint, contents.virtual_shards, placement.virtual_shards());
  const std::int64_t begin = placement.first_shard(server);
  const std::int64_t end = placement.first_shard(ServerId{raw(server) + 1});
  std::int64_t found = 0;
  std::vector<std::string> counted_anew;
  for (const auto& entry : contents.files) {
    const std::int64_t from = std::max(begin, entry.first_shard);
    const std::int64_t to = std::min(end, entry.end_shard);
    if (from >= to) continue;
    const bool same_shard = entry.first_shard == begin && entry.end_shard == end;
    counted_anew = load_file(checkpoint, entry, from, to, same_shard, tables);
    found += to - from;
  }
  if (found != end - begin) {
    damaged(checkpoint, kContentsFile,
            fmt::format("its files hold {} of virtual shards {} to {}", found, begin, end));
  }
  if (!counted_anew.empty() && raw(server) == 0) {
    spdlog::warn(
        "the appearances of ids without rows are counted anew in {}: roles.servers or the "
        "admission window is not that of the checkpoint",
        names_of(counted_anew));
  }
}

}  // namespace satrap::checkpoint
