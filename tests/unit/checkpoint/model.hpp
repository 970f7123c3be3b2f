#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "core/error.hpp"
#include "core/random.hpp"

namespace satrap::checkpoint {

namespace fs = std::filesystem;

/// A folder of its own for each test.
class Folder {
 public:
  Folder()
      : path_(fs::path(testing::TempDir()) / ("satrap_checkpoint_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

constexpr std::uint32_t kVirtualShards = 64;

inline config::TableConfig table_config(const std::string& name, config::Optimizer optimizer,
                                        std::int64_t dim, double momentum = 0.0) {
  config::TableConfig config;
  config.name = name;
  config.dim = dim;
  config.optimizer = optimizer;
  config.momentum = momentum;
  config.eviction = config::Eviction::none;
  return config;
}

inline config::TableConfig table_config(const std::string& name, config::Optimizer optimizer,
                                        std::int64_t dim, config::Storage storage,
                                        config::Storage moments = config::Storage::fp32) {
  auto config = table_config(name, optimizer, dim);
  config.storage = storage;
  config.moments = moments;
  return config;
}

/// One table of every optimizer and storage type, and of every size and type of state.
inline std::vector<config::TableConfig> all_tables() {
  using config::Optimizer;
  using config::Storage;
  return {table_config("plain", Optimizer::sgd, 3),
          table_config("momentum", Optimizer::sgd, 4, 0.9),
          table_config("adagrad", Optimizer::adagrad, 5),
          table_config("rowwise", Optimizer::rowwise_adagrad, 8),
          table_config("adam", Optimizer::adam, 2),
          table_config("rowwise_adam", Optimizer::rowwise_adam, 3, Storage::fp16),
          table_config("ftrl", Optimizer::ftrl, 3, Storage::bf16),
          table_config("lamb", Optimizer::lamb, 5, Storage::int8),
          table_config("bf16_moments", Optimizer::adam, 3, Storage::fp16, Storage::bf16)};
}

using Tables = std::vector<store::Table>;

inline Tables make_tables(const std::vector<config::TableConfig>& configs) {
  Tables tables;
  for (std::size_t t = 0; t < configs.size(); ++t) {
    tables.emplace_back(TableId{static_cast<std::uint32_t>(t)}, configs[t], 1);
  }
  return tables;
}

/// Appends a number of that type to a block's bytes.
inline void append_number(std::vector<std::byte>& bytes, config::Storage storage,
                          RandomSequence& random) {
  const auto append = [&](auto value) {
    const auto* data = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), data, data + sizeof(value));
  };
  switch (storage) {
    case config::Storage::fp32:
      return append(static_cast<float>(random.normal()));
    case config::Storage::fp16:
      return append(static_cast<std::uint16_t>(0x3c00 | random() % 1024));  // from 1 to 2
    case config::Storage::bf16:
      return append(static_cast<std::uint16_t>(0x3f80 | random() % 128));  // as well
    case config::Storage::int8:
      return append(static_cast<std::int8_t>(random() % 255 - 127));
  }
}

inline void append_row(store::RowBlock& block, const store::Table& table, FeatureId id,
                       RandomSequence& random) {
  block.ids.push_back(id);
  for (std::int64_t i = 0; i < table.dim(); ++i) {
    append_number(block.weights, table.config().storage, random);
  }
  if (table.layout().has_scale) block.scales.push_back(static_cast<float>(random.uniform()));
  for (std::int64_t i = 0; i < table.state_values(); ++i) {
    append_number(block.state, table.state_storage(), random);
  }
  if (table.layout().has_updates) block.updates.push_back(random());
  block.touched.push_back(std::uint64_t{1 + random() % 20} << 16);  // one of twenty steps
}

/// The tables of every server of a job, with `rows` rows per table over all servers. Each table
/// has the ids 0 and 2^64 - 1.
inline std::vector<Tables> make_job(const std::vector<config::TableConfig>& configs,
                                    std::int32_t servers, std::int64_t rows,
                                    std::uint64_t seed = 1) {
  const RowPlacement placement(kVirtualShards, servers);
  std::vector<Tables> job;
  for (std::int32_t s = 0; s < servers; ++s) job.push_back(make_tables(configs));
  for (std::size_t t = 0; t < configs.size(); ++t) {
    RandomSequence random(seed, RandomStream::teacher, t);
    std::vector<store::RowBlock> blocks(static_cast<std::size_t>(servers));
    for (std::int64_t r = 0; r < rows; ++r) {
      const FeatureId id{r == 0 ? 0 : r == 1 ? ~std::uint64_t{0} : random.next64()};
      const TableId table{static_cast<std::uint32_t>(t)};
      auto& block = blocks[static_cast<std::size_t>(raw(placement.server_of(table, id)))];
      append_row(block, job[0][t], id, random);
    }
    for (std::size_t s = 0; s < job.size(); ++s) job[s][t].import_rows(blocks[s]);
  }
  return job;
}

/// Empty tables for a job of `servers`, filled from a checkpoint.
inline std::vector<Tables> load_job(const fs::path& checkpoint,
                                    const std::vector<config::TableConfig>& configs,
                                    std::int32_t servers) {
  const RowPlacement placement(kVirtualShards, servers);
  std::vector<Tables> job;
  for (std::int32_t s = 0; s < servers; ++s) {
    job.push_back(make_tables(configs));
    load_shard(checkpoint, placement, ServerId{s}, job.back());
  }
  return job;
}

/// All rows of table `t` over the servers, in checkpoint order, which no number of servers changes.
inline store::RowBlock rows_of(const std::vector<Tables>& job, std::size_t t) {
  store::RowBlock all;
  for (const auto& tables : job) {
    store::RowBlock block;
    tables[t].export_rows(tables[t].order_rows(kVirtualShards).rows, block);
    const auto append = [](auto& values, const auto& more) {
      values.insert(values.end(), more.begin(), more.end());
    };
    append(all.ids, block.ids);
    append(all.weights, block.weights);
    append(all.scales, block.scales);
    append(all.state, block.state);
    append(all.updates, block.updates);
    append(all.touched, block.touched);
  }
  return all;
}

inline bool same_rows(const std::vector<Tables>& a, const std::vector<Tables>& b) {
  for (std::size_t t = 0; t < a.front().size(); ++t) {
    const auto x = rows_of(a, t);
    const auto y = rows_of(b, t);
    if (x.ids != y.ids || x.weights != y.weights || x.scales != y.scales || x.state != y.state ||
        x.updates != y.updates || x.touched != y.touched) {
      return false;
    }
  }
  return true;
}

/// A dense model of two arrays, all elements `value`.
struct Dense {
  explicit Dense(float value = 0.0F) : weight(6, value), bias(3, value) {
    state.step = 100;
    state.position = {.epoch = 2, .sample = 777};
    state.samples = 123456789012;
    state.seed = ~std::uint64_t{0};
    state.config_ini = "[job]\nrun_dir = \"run\"\n";
    state.arrays = {{"top/0/weight", {3, 2}, weight}, {"top/0/bias", {3}, bias}};
  }
  Dense(const Dense&) = delete;

  std::vector<float> weight;
  std::vector<float> bias;
  DenseState state;
};

inline void save_tables(const fs::path& directory, const std::vector<Tables>& job) {
  const RowPlacement placement(kVirtualShards, static_cast<std::int32_t>(job.size()));
  for (std::size_t s = 0; s < job.size(); ++s) {
    save_shard(directory, placement, ServerId{static_cast<std::int32_t>(s)}, job[s]);
  }
}

/// The whole of a save, as the ranks of a job do it together.
inline fs::path save(const fs::path& root, Step step, const std::vector<Tables>& job,
                     std::int64_t keep = 2) {
  const auto directory = begin_save(root, step);
  save_tables(directory, job);
  Dense dense(static_cast<float>(step));
  dense.state.step = step;
  save_dense(directory, dense.state);
  finish_save(root, step, keep);
  return root / ("step-" + std::to_string(step));
}

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace satrap::checkpoint
