#include "checkpoint/checkpoint.hpp"
#include "checkpoint/contents.hpp"
#include "checkpoint/format.hpp"
#include "checkpoint/rows.hpp"
#include "checkpoint/table_layout.hpp"

namespace satrap::checkpoint {

namespace {

std::int64_t count_floats(const h5::Group& group) {
  std::int64_t floats = 0;
  for (const auto& name : group.children()) {
    floats += group.is_group(name) ? count_floats(group.group(name))
                                   : h5::element_count(group.dataset(name).shape());
  }
  return floats;
}

}  // namespace

CheckpointInfo describe(const std::filesystem::path& checkpoint) {
  const Contents contents = read_contents(checkpoint);
  const h5::File top = open_checked(checkpoint, find_file(checkpoint, contents, kTopFile));
  const h5::File dense = open_checked(checkpoint, find_file(checkpoint, contents, kDenseFile));
  CheckpointInfo info{
      .step = contents.step,
      .position = {dense.attribute<std::int64_t>("epoch"), dense.attribute<std::int64_t>("sample")},
      .samples = dense.attribute<std::int64_t>("samples"),
      .seed = dense.attribute<std::uint64_t>("seed"),
      .config_ini = dense.attribute<std::string>("config"),
      .servers = contents.servers(),
      .virtual_shards = contents.virtual_shards,
      .bytes = contents.bytes(),
      .dense_floats = count_floats(dense.group("arrays")),
      .tables = {}};
  const h5::Group tables = top.group("tables");
  for (const auto& name : tables.children()) {
    const TableLayout layout = read_layout(tables.group(name));
    info.tables.push_back({.name = layout.name,
                           .optimizer = layout.optimizer,
                           .dim = layout.dim,
                           .storage = layout.storage,
                           .state_values = layout.state_values,
                           .state_storage = layout.state_storage,
                           .rows = layout.rows});
  }
  return info;
}

void verify(const std::filesystem::path& checkpoint) {
  store::RowBlock block;
  for (const auto& entry : read_contents(checkpoint).files) {
    const h5::File file = open_checked(checkpoint, entry);
    if (entry.first_shard == entry.end_shard) continue;
    const h5::Group tables = file.group("tables");
    for (const auto& name : tables.children()) {
      RowReader reader(checkpoint, entry.name, tables.group(name));
      while (reader.next(block)) continue;
    }
  }
}

}  // namespace satrap::checkpoint
