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
// A job that dies anywhere on the way leaves the checkpoints before it as they were. All functions
// throw CheckpointError, with the path and the system's words, if files cannot be made, written or
// read. One thread of a process at a time may use this part.

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

/// Where the files of step `step` are written: <root>/step-<N>.tmp.
std::filesystem::path temporary_directory(const std::filesystem::path& root, Step step);

/// Removes the unfinished saves of jobs that died under `root`, which exists: they may fill the
/// disk so far that the next job cannot start. Touches no checkpoint that can be read.
void remove_unfinished(const std::filesystem::path& root);

/// Makes that directory, empty, and returns its path. Removes what jobs that died left under
/// `root`: one job at a time writes there.
std::filesystem::path begin_save(const std::filesystem::path& root, Step step);

/// Writes the rows that `server` holds into `directory`, the temporary one of its step. Memory
/// beyond the tables: 4-8 bytes per row of the largest table, one block of rows, and the largest
/// admission window. `tables` in the order of the config.
void save_shard(const std::filesystem::path& directory, const RowPlacement& placement,
                ServerId server, std::span<const store::Table> tables);

void save_dense(const std::filesystem::path& directory, const DenseState& state);

/// Completes the checkpoint, in place of an older one of the same step, and removes all but the
/// `keep` newest ones (at least this one). Throws CheckpointError if the files do not fit together.
void finish_save(const std::filesystem::path& root, Step step, std::int64_t keep);

/// The newest complete checkpoint under `root`, by the order of writing; nothing without a
/// manifest. One whose files are missing or short is passed over with a warning. Throws
/// CheckpointError if the manifest is damaged or none that it names is complete.
std::optional<std::filesystem::path> newest(const std::filesystem::path& root);

/// Throws CheckpointError if load_shard() would, for tables with the configs of `tables` or another
/// number of virtual shards. Reads the small files alone.
void check_tables(const std::filesystem::path& checkpoint, std::int64_t virtual_shards,
                  std::span<const store::Table> tables);

/// Reads into `tables` the rows of the virtual shards that `server` owns under `placement`, from
/// the files of any number of servers. Throws CheckpointError, naming the file, if the tables,
/// their order, dims, storage types or optimizers or the number of virtual shards differ, a
/// checksum fails or a file is damaged; the tables then hold a part of the rows. Reads the selected
/// rows once and needs one block of rows of memory. The appearances counted of ids without rows
/// come back as well if the server's shards and the admission window are those of the checkpoint;
/// if not, server 0 logs that they are counted anew.
void load_shard(const std::filesystem::path& checkpoint, const RowPlacement& placement,
                ServerId server, std::span<store::Table> tables);

/// Reads everything outside the tables. `state.arrays` says what is expected (names, shapes) and
/// receives the values; any difference throws CheckpointError and changes nothing.
/// `state.config_ini` stays that of the running job; describe() tells the checkpoint's.
void load_dense(const std::filesystem::path& checkpoint, DenseState& state);

struct TableInfo {
  std::string name;
  std::string optimizer;
  std::int64_t dim = 0;
  config::Storage storage{};
  std::int64_t state_values = 0;    ///< Numbers of optimizer state per row,
  config::Storage state_storage{};  ///< and their type.
  std::int64_t rows = 0;
};

struct CheckpointInfo {
  Step step = 0;
  data::Position position;
  std::int64_t samples = 0;
  std::uint64_t seed = 0;
  std::string config_ini;
  std::int64_t servers = 0;  ///< That wrote it; any number can read it.
  std::int64_t virtual_shards = 0;
  std::int64_t bytes = 0;         ///< Of all its files.
  std::int64_t dense_floats = 0;  ///< Elements of the dense arrays.
  std::vector<TableInfo> tables;  ///< In name order.
};

/// What a checkpoint holds, from its small files alone.
CheckpointInfo describe(const std::filesystem::path& checkpoint);

/// Reads every byte. Throws CheckpointError for the first one that is not what was written.
void verify(const std::filesystem::path& checkpoint);

}  // namespace satrap::checkpoint
