#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "data/batch.hpp"
#include "store/table.hpp"

namespace satrap::checkpoint {

// A checkpoint is a directory <root>/step-<N>; docs/checkpoint-format.md is the format's page. It
// is written in this order, each step after the ones before it have succeeded on every rank:
//
//   begin_save      one rank     makes step-<N>.tmp
//   save_shard      each server  servers' files, rows grouped by virtual shard, checksummed, synced
//   save_dense      one trainer  dense model, optimizer, counters, data position
//   finish_save     one rank     top file with virtual datasets, sync, rename to step-<N>, manifest
//
// A reader takes the newest checkpoint that the manifest names and whose files are all there.

/// One named float array of the dense model, its state or its optimizer.
struct NamedArray {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<float> values;
};

/// Everything outside the tables, of the same step.
struct DenseState {
  Step step = 0;
  data::Position position;   ///< Of the first sample that no step has used.
  std::int64_t samples = 0;  ///< Trained so far.
  std::uint64_t seed = 0;
  std::string config_ini;          ///< The resolved config that made it.
  std::vector<NamedArray> arrays;  ///< In a fixed order; names are unique.
};

/// Makes the directory for step `step` under `root`, removing the rest of an earlier try, and
/// returns its temporary path.
std::filesystem::path begin_save(const std::filesystem::path& root, Step step);

/// Writes the rows that `server` holds. Memory beyond the tables: 4-8 bytes per row of the largest
/// table and one block of rows. `tables` in the order of the config.
void save_shard(const std::filesystem::path& directory, const RowPlacement& placement,
                ServerId server, std::span<const store::Table> tables);

void save_dense(const std::filesystem::path& directory, const DenseState& state);

/// Completes the checkpoint and removes all but the `keep` newest ones.
void finish_save(const std::filesystem::path& root, Step step, std::int64_t keep);

/// The newest complete checkpoint under `root`, if any. Throws CheckpointError if the manifest is
/// damaged.
std::optional<std::filesystem::path> newest(const std::filesystem::path& root);

/// Reads into `tables` the rows of the virtual shards that `server` owns under `placement`, from
/// the files of any number of servers. Throws CheckpointError, naming the file, if a table is
/// missing or of another dim or optimizer, the number of virtual shards differs, a checksum fails
/// or a file is damaged.
void load_shard(const std::filesystem::path& checkpoint, const RowPlacement& placement,
                ServerId server, std::span<store::Table> tables);

/// Reads everything outside the tables. `state.arrays` says what is expected (names, shapes) and
/// receives the values; any difference throws CheckpointError.
void load_dense(const std::filesystem::path& checkpoint, DenseState& state);

}  // namespace satrap::checkpoint
