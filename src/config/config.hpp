#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/choices.hpp"

namespace satrap::config {

// One plain struct per section of the INI file, with its defaults. What a key means, how it is
// spelled, checked and printed is in the field table of its struct (fields/), and nowhere else.

struct JobConfig {
  std::string run_dir = "run";
  std::uint64_t seed = 1;
  /// "auto", "never", or the path of a checkpoint directory step-<N>.
  std::string resume = "auto";
  std::string log_level = "info";
  /// Seconds between two progress lines.
  double progress_interval = 1.0;

  friend bool operator==(const JobConfig&, const JobConfig&) = default;
};

struct RolesConfig {
  std::int64_t servers = 1;
  std::int64_t workers = 0;
  /// 0: every rank that is neither server nor worker.
  std::int64_t trainers = 0;

  friend bool operator==(const RolesConfig&, const RolesConfig&) = default;
};

struct DataConfig {
  DataFormat format = DataFormat::criteo;
  /// Files, in order; each entry may be a glob. Relative to the working directory.
  std::vector<std::string> train;
  std::vector<std::string> valid;
  bool shuffle = true;
  /// Samples that are shuffled among themselves: windows of this size follow the file order.
  std::int64_t shuffle_window = 65536;
  DenseTransform dense_transform = DenseTransform::log1p;
  std::int64_t max_bad_rows = 0;

  // CSV only.
  /// One or more characters.
  std::string delimiter = ",";
  /// Whether the first line of each file names the columns; else `columns` does. With both, they
  /// must agree.
  bool header = false;
  std::vector<std::string> columns;
  std::vector<std::string> categorical;
  std::vector<std::string> numeric;
  std::string label;
  /// Texts of the label column that mean 1; every other text means 0. None: the label is 0 or 1.
  std::vector<std::string> label_positive;
  /// The text of a missing value, besides the empty one.
  std::string missing = "?";
  /// Lines that start with this text are passed over; empty: none.
  std::string comment;

  friend bool operator==(const DataConfig&, const DataConfig&) = default;
};

struct ModelConfig {
  Model kind = Model::dlrm;
  /// dlrm: hidden widths of the MLP over the dense features; a last layer of the tables' dim
  /// follows.
  std::vector<std::int64_t> bottom = {512, 256, 64};
  /// Hidden widths of the MLP that ends in the logit.
  std::vector<std::int64_t> top = {512, 256};
  /// ffnn: widths of the layers over the embeddings and over the dense features.
  std::int64_t sparse_width = 128;
  std::int64_t dense_width = 16;
  bool batch_norm = false;
  /// ffnn: after each hidden layer of `top`.
  Activation activation = Activation::relu;

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

struct TrainConfig {
  Mode mode = Mode::hybrid;
  std::int64_t global_batch = 2048;
  std::int64_t epochs = 1;
  /// Stop after this many steps; 0: as many as the epochs have.
  std::int64_t steps = 0;
  /// In-flight batches per trainer, the one being looked up included; 1 is no staleness.
  std::int64_t staleness = 4;
  /// Steps between evaluations; 0: only at the end.
  std::int64_t eval_every = 0;
  /// Samples per evaluation batch, over all trainers; 0: global_batch.
  std::int64_t eval_batch = 0;
  /// Leave out the last step of an epoch if it would be smaller than global_batch.
  bool drop_last = false;
  std::int64_t max_nonfinite_steps = 5;

  friend bool operator==(const TrainConfig&, const TrainConfig&) = default;
};

struct DenseOptimizerConfig {
  Optimizer kind = Optimizer::adam;  ///< sgd, adagrad or adam
  double lr = 0.001;
  double momentum = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double initial_accumulator = 0.0;
  double weight_decay = 0.0;

  friend bool operator==(const DenseOptimizerConfig&, const DenseOptimizerConfig&) = default;
};

/// A factor on the learning rates as a function of the step (reference: docs/config.md).
struct ScheduleConfig {
  std::int64_t warmup_steps = 0;
  Decay decay = Decay::none;
  std::int64_t decay_start = 0;
  std::int64_t decay_steps = 0;
  double decay_power = 2.0;
  /// The factor at the end of the decay; for `step`: the factor applied every decay_steps.
  double end_factor = 0.0;
  /// Whether the tables' learning rates follow it too.
  bool sparse = true;

  friend bool operator==(const ScheduleConfig&, const ScheduleConfig&) = default;
};

struct TableConfig {
  std::string name;
  std::int64_t dim = 16;
  Optimizer optimizer = Optimizer::rowwise_adagrad;
  double lr = 0.01;
  double momentum = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double initial_accumulator = 0.0;
  double weight_decay = 0.0;
  BiasCorrection bias_correction = BiasCorrection::row;
  /// FTRL.
  double beta = 1.0;
  double l1 = 0.0;
  double l2 = 0.0;
  /// Largest L2 norm of a row's gradient; 0: any.
  double clip_norm = 0.0;
  /// Weights are kept in [-weight_bound, weight_bound]; 0: not.
  double weight_bound = 0.0;
  /// New rows are uniform in [-init_range, init_range).
  double init_range = 0.01;

  Storage storage = Storage::fp32;
  /// From the fp32 result of an update to the storage type.
  Rounding rounding = Rounding::stochastic;
  Storage moments = Storage::fp32;  ///< Adam's: fp32 or bf16

  /// Rows over all servers; 0: as many as memory holds.
  std::int64_t capacity = 0;
  /// The same in bytes, index and admission included.
  std::int64_t capacity_bytes = 0;
  /// What happens when a table is full; none stops the job.
  Eviction eviction = Eviction::lru;
  /// eviction = ttl: steps after which an unused row goes.
  std::int64_t ttl = 0;
  /// eviction = lfu: steps after which uses count half; 0: they count for ever.
  std::int64_t half_life = 0;

  /// The appearance that earns an id its row.
  std::int64_t admit_after = 1;
  /// Ids per server and table whose appearances are remembered; 0: as many as the capacity.
  std::int64_t admission_window = 0;
  /// The share of all ids that may have rows.
  double admit_share = 1.0;
  NotAdmitted not_admitted = NotAdmitted::zeros;

  /// Hash stack: an id is the sum of this many hashed rows; 0: it has a row of its own.
  std::int64_t hash_rows = 0;
  /// Rows that each hash chooses from.
  std::int64_t hash_buckets = 0;

  /// Rows whose sum an id is.
  std::int64_t rows_per_id() const noexcept { return hash_rows > 0 ? hash_rows : 1; }

  friend bool operator==(const TableConfig&, const TableConfig&) = default;
};

struct SlotConfig {
  std::string name;
  /// Name of its table; the slot's own name by default.
  std::string table;
  Pooling pooling = Pooling::sum;

  friend bool operator==(const SlotConfig&, const SlotConfig&) = default;
};

struct CheckpointConfig {
  /// Steps between checkpoints; 0: none on the way.
  std::int64_t every = 0;
  bool at_end = true;
  /// How many complete checkpoints stay; older ones are removed.
  std::int64_t keep = 2;
  /// Unit of placement of rows on servers; fixed for the life of a model.
  std::int64_t virtual_shards = 4096;

  friend bool operator==(const CheckpointConfig&, const CheckpointConfig&) = default;
};

struct TransportConfig {
  /// Bytes of each ring; the longest message is a quarter of it.
  std::int64_t ring_bytes = 1 << 20;
  /// Bytes for the rows of a trainer's in-flight batches; 0: computed from the batch.
  std::int64_t reply_bytes = 0;
  /// Microseconds of polling before an idle rank starts to sleep, and its longest sleep.
  std::int64_t spin_us = 20;
  std::int64_t max_sleep_us = 100;

  friend bool operator==(const TransportConfig&, const TransportConfig&) = default;
};

/// The whole experiment, resolved: slots and tables are listed one by one, in the order of the
/// data.
struct Config {
  JobConfig job;
  RolesConfig roles;
  DataConfig data;
  ModelConfig model;
  TrainConfig train;
  DenseOptimizerConfig dense_optimizer;
  ScheduleConfig schedule;
  std::vector<SlotConfig> slots;
  std::vector<TableConfig> tables;
  CheckpointConfig checkpoint;
  TransportConfig transport;

  /// Dense features per sample: 13 for criteo, the numeric columns for csv.
  std::int64_t dense_features() const;
  /// The index into `tables` of the table of slots[slot].
  std::size_t table_of_slot(std::size_t slot) const;
  /// How many slots look up in tables[table].
  std::int64_t slots_of_table(std::size_t table) const;
  /// The rows of tables[table] that a batch of `samples` needs at most, with one id per slot.
  std::int64_t most_rows(std::size_t table, std::int64_t samples) const;

  friend bool operator==(const Config&, const Config&) = default;
};

/// A key on the command line or in a file, as written, with where it was found for messages.
struct Setting {
  std::string key;    ///< section.name, table.GLOB.name or slot.GLOB.name
  std::string value;  ///< As written, without the blanks around it.
  std::string where;  ///< "configs/x.ini:12" or kCommandLine
};
inline constexpr const char* kCommandLine = "command line";

/// The settings of an INI file in its order. Throws ConfigError: file missing, line not understood,
/// key given twice.
std::vector<Setting> read_ini(const std::string& path);

/// The same for text that is already in memory, e.g. from a checkpoint; `name` stands for the file
/// in messages.
std::vector<Setting> parse_ini(std::string_view text, const std::string& name);

/// The command line, taken apart: an option whose name has a dot is a setting, all else is the
/// program's own.
struct CommandLine {
  std::vector<Setting> settings;
  std::vector<std::string> rest;  ///< In order, "--" and what follows it included.
};

/// Takes `--section.key=value` and `--section.key value` out of `args` (without the program's
/// name). Throws ConfigError if a value is missing; a value that starts with "--" needs the "="
/// form.
CommandLine parse_command_line(const std::vector<std::string>& args);

/// Whether resolve() may open files of data.train. `skip` is for ranks and tools that resolve a
/// config that has been checked before and may not see the data.
enum class Files { read, skip };

/// Builds the config from settings in order, later ones winning; fills in slots and tables and
/// checks all of it. Reads no data, but the header line of the first CSV file if data.header is
/// set (and `files` allows it), to see that the named columns exist. Throws one ConfigError that
/// names where, key, problem and remedy of the first fault; DataError if
/// that header cannot be read.
Config resolve(const std::vector<Setting>& settings, Files files = Files::read);

/// Checks that `world` ranks can take the roles, and what depends on how many there are of each;
/// fills in roles.trainers. For counts of the config and those counted from --role alike. Throws
/// ConfigError.
void resolve_roles(Config& config, std::int64_t world);

/// The INI text that resolves to `config` again, with a comment per key: for --print-config, the
/// run directory and checkpoints. Keys without effect stand there as comments.
std::string to_ini(const Config& config);

/// Every key with default and meaning, for --help; at most 100 columns wide.
std::string help();

}  // namespace satrap::config
