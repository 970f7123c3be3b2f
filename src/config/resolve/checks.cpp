#include "config/resolve/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace satrap::config {

namespace {

/// The key that decides the table of a slot, for messages about its name.
std::string table_key(const SlotConfig& slot) {
  return fmt::format("slot.{}.table", slot.name);
}

/// Names become keys, globs and groups in checkpoints.
bool is_name(std::string_view name) {
  const auto is_bad = [](unsigned char c) { return c < ' ' || c == 127; };
  return !name.empty() && name != "." && name != ".." && name.front() != ' ' &&
         name.back() != ' ' && name.find_first_of("*?[]/\\#\",=") == name.npos &&
         std::none_of(name.begin(), name.end(), is_bad);
}

/// The sign bit stays free.
constexpr auto kMostRows = std::numeric_limits<std::int64_t>::max();

}  // namespace

void complete_train(Config& config, const Origins& origins) {
  if (config.train.mode != Mode::sync) return;
  if (origins.find("train.staleness") && config.train.staleness != 1)
    origins.refuse("train.staleness", "does not go with train.mode = sync",
                   "there each lookup waits for the gradients of the step before",
                   "set train.staleness = 1 or train.mode = hybrid");
  config.train.staleness = 1;
}

void complete_schedule(Config& config, const Origins& origins) {
  auto& schedule = config.schedule;
  if (schedule.decay == Decay::none) return;
  if (schedule.decay_steps == 0)
    origins.refuse("schedule.decay_steps", "must be set", "schedule.decay is",
                   "say how many steps the decay takes");
  if (!origins.find("schedule.decay_start")) schedule.decay_start = schedule.warmup_steps;
  if (schedule.decay_start < schedule.warmup_steps)
    origins.refuse("schedule.decay_start", "lies within the warm-up",
                   fmt::format("schedule.warmup_steps = {}", schedule.warmup_steps),
                   "let the decay start after it");
  if (schedule.decay == Decay::step && (schedule.end_factor == 0 || schedule.end_factor == 1))
    origins.refuse("schedule.end_factor", "must be between 0 and 1 with schedule.decay = step",
                   "every learning rate is multiplied by it every schedule.decay_steps",
                   "set it, e.g. to 0.1");
}

void check_names(const Config& config, const Origins& origins) {
  constexpr auto remedy = "use a name without blanks at its ends and without * ? [ ] / \\ # \" , =";
  for (const auto& slot : config.slots) {
    if (!is_name(slot.name))
      origins.refuse("data.categorical", fmt::format("cannot make a slot of \"{}\"", slot.name), {},
                     remedy);
    if (!is_name(slot.table)) origins.refuse(table_key(slot), "is not a name", {}, remedy);
  }
}

void check_model(const Config& config, const Origins& origins) {
  if (config.model.kind != Model::dlrm) return;
  if (config.dense_features() == 0)
    origins.refuse("model.kind", "cannot be dlrm without dense features", "data.numeric is empty",
                   "name numeric columns, or set model.kind = ffnn");
  const auto& first = config.tables.front();
  for (const auto& table : config.tables)
    if (table.dim != first.dim)
      origins.refuse(fmt::format("table.{}.dim", table.name),
                     fmt::format("differs: table {} has dim {}, table {} has dim {}", table.name,
                                 table.dim, first.name, first.dim),
                     "dlrm takes dot products between all of them",
                     "give all tables one dim, or set model.kind = ffnn");
}

void check_tables(const Config& config, const Origins& origins) {
  for (const auto& table : config.tables) {
    const auto refuse = [&](std::string_view key, std::string_view problem, std::string_view why,
                            std::string_view remedy) {
      origins.refuse(fmt::format("table.{}.{}", table.name, key), problem, why, remedy);
    };
    if (table.hash_rows > 0 && table.hash_buckets == 0)
      refuse("hash_buckets", "must be set", fmt::format("hash_rows = {}", table.hash_rows),
             "say how many rows each hash chooses from");
    if (table.hash_rows > 0 && table.hash_buckets > kMostRows / table.hash_rows)
      refuse("hash_buckets", "makes more rows than there are row ids",
             fmt::format("hash_rows = {}", table.hash_rows),
             fmt::format("give at most {}", kMostRows / table.hash_rows));
    if (table.capacity > 0 && table.capacity_bytes > 0)
      refuse("capacity_bytes", "does not go with a capacity in rows",
             fmt::format("table.{}.capacity = {}", table.name, table.capacity),
             "give one of the two");
    if (table.eviction == Eviction::ttl && table.ttl == 0)
      refuse("ttl", "must be set", "eviction = ttl", "say after how many steps an unused row goes");
  }
}

void check_capacities(const Config& config, const Origins& origins) {
  for (std::size_t i = 0; i < config.tables.size(); ++i) {
    const auto& table = config.tables[i];
    const auto least = config.most_rows(i, config.train.global_batch);
    if (table.capacity == 0 || table.capacity >= least) continue;
    auto why = fmt::format("{} samples times {} slots of table {}", config.train.global_batch,
                           config.slots_of_table(i), table.name);
    if (table.hash_rows > 0)
      why += fmt::format(", {} of {} hashed rows each", table.hash_rows,
                         table.hash_rows * table.hash_buckets);
    origins.refuse(
        fmt::format("table.{}.capacity", table.name), "is less than one batch can need", why,
        fmt::format("give at least {}, a smaller train.global_batch, or 0 for no limit", least));
  }
}

}  // namespace satrap::config
