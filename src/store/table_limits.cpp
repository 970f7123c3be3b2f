#include "store/table_limits.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "store/admission.hpp"
#include "store/arena.hpp"
#include "store/index.hpp"

namespace satrap::store {
namespace {

constexpr auto kBlockBytes = static_cast<std::int64_t>(Arena::kBlockBytes);
constexpr std::int64_t kDefaultWindow = std::int64_t{1} << 20;
constexpr std::int64_t kMostWindow = (std::int64_t{1} << 36) - 1;

bool counts(const config::TableConfig& config) noexcept {
  return config.admit_after > 1;
}

/// Whether the window has as many ids as the table has rows.
bool window_of_capacity(const config::TableConfig& config) noexcept {
  return counts(config) && config.admission_window == 0 &&
         (config.capacity > 0 || config.capacity_bytes > 0);
}

/// What may lie unused: the ends of the last block of rows, of index and of admission.
std::int64_t unused_bytes(const config::TableConfig& config) noexcept {
  return (counts(config) ? 3 : 2) * kBlockBytes;
}

/// Bytes of a capacity_bytes that are not for rows.
std::int64_t fixed_bytes(const config::TableConfig& config) noexcept {
  return unused_bytes(config) + admission_bytes(config);
}

/// So that as much can be used as may lie unused.
std::int64_t least_bytes(const config::TableConfig& config) noexcept {
  return fixed_bytes(config) + unused_bytes(config);
}

}  // namespace

const config::TableConfig& checked(const config::TableConfig& config) {
  const auto check = [&](bool holds, const std::string& problem, const std::string& remedy) {
    if (holds) return;
    throw ConfigError(fmt::format("table.{}.{}", config.name, problem), {}, remedy);
  };
  // The largest row: id, updates, scale, weights and twice as much state.
  constexpr std::int64_t kMaxDim = (kBlockBytes - 16) / (3 * sizeof(float));
  check(1 <= config.dim && config.dim <= kMaxDim, fmt::format("dim = {}", config.dim),
        fmt::format("use 1 to {}", kMaxDim));
  using Number = std::pair<const char*, double>;
  for (const auto& [name, value] : {Number{"lr", config.lr},
                                    {"eps", config.eps},
                                    {"initial_accumulator", config.initial_accumulator},
                                    {"weight_decay", config.weight_decay},
                                    {"beta", config.beta},
                                    {"l1", config.l1},
                                    {"l2", config.l2},
                                    {"clip_norm", config.clip_norm},
                                    {"weight_bound", config.weight_bound},
                                    {"init_range", config.init_range}}) {
    check(0 <= value && value <= std::numeric_limits<float>::max(),
          fmt::format("{} = {}", name, value), "use 0 or a positive number");
  }
  for (const auto& [name, value] :
       {Number{"momentum", config.momentum}, {"beta1", config.beta1}, {"beta2", config.beta2}}) {
    check(0 <= value && static_cast<float>(value) < 1, fmt::format("{} = {}", name, value),
          "use 0 or more, below 1");
  }
  check(config.capacity >= 0, fmt::format("capacity = {}", config.capacity),
        "use 0 for no limit, or a number of rows");
  check(0 <= config.admission_window && config.admission_window <= kMostWindow,
        fmt::format("admission_window = {}", config.admission_window),
        fmt::format("use 0 to {}", kMostWindow));
  check(
      config.capacity_bytes == 0 || config.capacity_bytes >= least_bytes(config),
      fmt::format("capacity_bytes = {} for this shard", config.capacity_bytes),
      fmt::format("use {} or more per server, or give the capacity in rows", least_bytes(config)));
  check(config.eviction != config::Eviction::ttl || config.ttl >= 1,
        fmt::format("ttl = {}", config.ttl), "use 1 or more steps");
  check(config.half_life >= 0, fmt::format("half_life = {}", config.half_life),
        "use 0 for none, or a number of steps");
  check(1 <= config.admit_after && config.admit_after <= AppearanceCounter::kMost,
        fmt::format("admit_after = {}", config.admit_after),
        fmt::format("use 1 to {}", AppearanceCounter::kMost));
  check(0 < config.admit_share && config.admit_share <= 1,
        fmt::format("admit_share = {}", config.admit_share), "use a share above 0, up to 1");
  return config;
}

std::int64_t bytes_per_row(const config::TableConfig& config, const RowLayout& layout) noexcept {
  return static_cast<std::int64_t>(layout.bytes) + Index::kBytesPerEntry +
         (window_of_capacity(config) ? AppearanceCounter::kBytesPerId : 0);
}

std::int64_t bytes_for(const config::TableConfig& config, const RowLayout& layout,
                       std::int64_t rows) noexcept {
  return std::max(least_bytes(config), fixed_bytes(config) + rows * bytes_per_row(config, layout));
}

std::int64_t capacity_in_rows(const config::TableConfig& config, const RowLayout& layout) noexcept {
  if (config.capacity_bytes == 0) return config.capacity;
  return std::max<std::int64_t>(
      1, (config.capacity_bytes - fixed_bytes(config)) / bytes_per_row(config, layout));
}

std::int64_t admission_window(const config::TableConfig& config, std::int64_t capacity) noexcept {
  if (config.admission_window > 0) return config.admission_window;
  return capacity > 0 ? std::min(capacity, kMostWindow) : kDefaultWindow;
}

std::int64_t admission_bytes(const config::TableConfig& config) noexcept {
  if (!counts(config) || window_of_capacity(config)) return 0;
  return admission_window(config, 0) * AppearanceCounter::kBytesPerId;
}

}  // namespace satrap::store
