#include "store/row_ops.hpp"

#include <cstring>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"

namespace satrap::store {
namespace {

using config::Storage;

const config::TableConfig& checked(const config::TableConfig& config) {
  const auto refuse = [&](const std::string& setting, const char* why, const char* remedy) {
    throw ConfigError(fmt::format("table '{}': {}", config.name, setting), why, remedy);
  };
  const std::string moments = fmt::format("moments = {}", name_of(config.moments));
  if (config.moments != Storage::fp32 && config.optimizer != config::Optimizer::adam) {
    refuse(moments + " would have no effect", "only adam keeps moments that can be smaller",
           "remove moments or use optimizer = adam");
  }
  if (config.moments != Storage::fp32 && config.moments != Storage::bf16) {
    refuse(moments, "second moments span more than that type's range", "use fp32 or bf16");
  }
  if (config.rounding != config::Rounding::stochastic && config.storage == Storage::fp32 &&
      config.moments == Storage::fp32) {
    refuse(fmt::format("rounding = {} would have no effect", name_of(config.rounding)),
           "nothing of the table is below fp32", "remove rounding or set storage");
  }
  return config;
}

StorageKernels kernels_of(Storage storage, config::Rounding rounding) {
  return storage == Storage::fp32 ? StorageKernels{} : storage_kernels(storage, rounding);
}

/// At least `n` floats of this thread, with the values of an earlier use.
float* scratch(std::size_t n) {
  thread_local std::vector<float> row;
  if (row.size() < n) row.resize(n);
  return row.data();
}

/// One more update, which is the t that is returned. Counting ends where the bias has long gone.
std::uint32_t count_update(std::byte* updates) noexcept {
  std::uint32_t t = 0;
  std::memcpy(&t, updates, sizeof t);
  if (t < std::numeric_limits<std::uint32_t>::max()) ++t;
  std::memcpy(updates, &t, sizeof t);
  return t;
}

}  // namespace

RowOps::RowOps(TableId table, const config::TableConfig& config, std::uint64_t seed)
    : table_(table),
      seed_(seed),
      dim_(static_cast<std::size_t>(checked(config).dim)),
      optimizer_(config),
      layout_(config.dim, config.storage, optimizer_.state_values(), config.moments,
              optimizer_.keeps_updates()),
      init_range_(static_cast<float>(config.init_range)),
      clip_norm_(static_cast<float>(config.clip_norm)),
      weight_bound_(static_cast<float>(config.weight_bound)),
      initial_key_(rounding_key(0)),
      initialize_(initialize_kernel()),
      update_(update_kernel(config.optimizer, config.momentum != 0.0)),
      limits_(limit_kernels()),
      weights_(kernels_of(config.storage, config.rounding)),
      moments_(kernels_of(config.moments, config.rounding)),
      stochastic_(config.rounding == config::Rounding::stochastic &&
                  (weights_.encode != nullptr || moments_.encode != nullptr)),
      in_place_(weights_.encode == nullptr && moments_.encode == nullptr && clip_norm_ == 0 &&
                weight_bound_ == 0) {
  if (!in_place_) scratch(scratch_size());
}

std::size_t RowOps::scratch_size() const noexcept {
  return 2 * dim_ + static_cast<std::size_t>(state_values());
}

std::uint64_t RowOps::rounding_key(Step step) const noexcept {
  const auto words =
      philox(seed_, RandomStream::rounding, static_cast<std::uint64_t>(step), raw(table_));
  return (std::uint64_t{words[1]} << 32) | words[0];
}

void RowOps::initialize(FeatureId id, std::byte* row) const {
  std::byte* const weights = row + layout_.weights;
  std::byte* const state = row + layout_.state;
  float* const values =
      weights_.encode ? scratch(scratch_size()) : reinterpret_cast<float*>(weights);
  initialize_(seed_, table_, id, init_range_, dim_, values);
  if (!in_place_) {  // No padding is left as it was: equal rows are equal byte for byte.
    std::memset(weights + layout_.weight_bytes, 0,
                layout_.bytes - layout_.weights - layout_.weight_bytes);
  }
  if (weights_.encode) {
    weights_.encode(values, dim_, {initial_key_, id, RowPart::weights}, weights);
  }
  if (moments_.encode == nullptr) optimizer_.initialize(reinterpret_cast<float*>(state));
  if (layout_.has_updates) std::memset(row + layout_.updates, 0, sizeof(std::uint32_t));
}

Hyper RowOps::hyper(const UpdateContext& context) const noexcept {
  Hyper hyper = optimizer_.hyper(context);
  if (stochastic_) hyper.rounding_key = rounding_key(context.step);
  return hyper;
}

void RowOps::update_with_options(Hyper hyper, FeatureId id, const float* gradient,
                                 std::byte* row) const {
  float* const space = in_place_ ? nullptr : scratch(scratch_size());
  const auto n_state = static_cast<std::size_t>(state_values());
  std::byte* const stored_weights = row + layout_.weights;
  std::byte* const stored_state = row + layout_.state;
  auto* weights = reinterpret_cast<float*>(stored_weights);
  auto* state = reinterpret_cast<float*>(stored_state);

  if (layout_.has_updates) optimizer_.correct_bias(hyper, count_update(row + layout_.updates));
  if (clip_norm_ > 0) {
    limits_.clip(clip_norm_, dim_, gradient, space);
    gradient = space;
  }
  if (weights_.decode) {
    weights = space + dim_;
    weights_.decode(stored_weights, dim_, weights);
  }
  if (moments_.decode) {
    state = space + 2 * dim_;
    moments_.decode(stored_state, n_state, state);
  }
  update_(hyper, dim_, gradient, weights, state);
  if (weight_bound_ > 0) limits_.clamp(weight_bound_, dim_, weights);
  if (weights_.encode) {
    weights_.encode(weights, dim_, {hyper.rounding_key, id, RowPart::weights}, stored_weights);
  }
  if (moments_.encode) {
    moments_.encode(state, n_state, {hyper.rounding_key, id, RowPart::moments}, stored_state);
  }
}

}  // namespace satrap::store
