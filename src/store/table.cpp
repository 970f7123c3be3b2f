#include "store/table.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "store/table_impl.hpp"

namespace satrap::store {
namespace {

/// Dead rows whose memory is taken at a time: enough to fetch them together.
constexpr std::size_t kReclaim = 256;

config::TableConfig checked(const config::TableConfig& config) {
  const auto refuse = [&](std::string_view problem, std::string_view remedy) {
    throw ConfigError(fmt::format("table '{}': {}", config.name, problem), {}, remedy);
  };
  // The largest row: id, updates, weights and twice as much state.
  constexpr std::int64_t kMaxDim = (Arena::kBlockBytes - 12) / (3 * sizeof(float));
  if (config.dim < 1 || config.dim > kMaxDim) {
    refuse(fmt::format("dim = {}", config.dim), fmt::format("use 1 to {}", kMaxDim));
  }
  if (config.capacity < 0) {
    refuse(fmt::format("capacity = {}", config.capacity),
           "use 0 for no limit, or a number of rows");
  }
  if (!std::isfinite(config.init_range) || config.init_range < 0) {
    refuse(fmt::format("init_range = {}", config.init_range), "use 0 or a positive number");
  }
  return config;
}

RowLayout layout_of(const config::TableConfig& config, const RowOptimizer& optimizer) noexcept {
  return {config.dim, optimizer.state_floats(), optimizer.keeps_updates()};
}

void copy_floats(const float* __restrict from, std::size_t n, float* __restrict to) noexcept {
  for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
}

}  // namespace

Table::Impl::Impl(TableId id, const config::TableConfig& config, std::uint64_t seed)
    : id_(id),
      config_(checked(config)),
      seed_(seed),
      optimizer_(config_),
      initialize_row_(initialize_kernel()),
      arena_(fmt::format("table '{}'", config_.name)),
      rows_(arena_, layout_of(config_, optimizer_)),
      index_(arena_, rows_, mix(seed + raw(id))),
      recency_(config_.capacity) {
  free_rows_.reserve(kReclaim);
}

void Table::Impl::check_fits(std::size_t ids) const {
  if (config_.capacity == 0 || static_cast<std::int64_t>(ids) <= config_.capacity) return;
  throw DataError(fmt::format("table '{}': a batch of {} distinct ids", config_.name, ids),
                  fmt::format("the capacity of this shard is {} rows", config_.capacity),
                  "raise the table's capacity or lower the batch size");
}

void Table::Impl::make_room(std::int64_t n) {
  if (config_.capacity == 0 || recency_.live() + n <= config_.capacity) return;
  if (config_.eviction == config::Eviction::none) {
    throw DataError(fmt::format("table '{}' is full: {} of {} rows, and {} new ids", config_.name,
                                recency_.live(), config_.capacity, n),
                    "eviction is off", "raise the table's capacity or set eviction = lru");
  }
  statistics_.evicted += recency_.make_room(n);
}

std::uint32_t Table::Impl::take_row() {
  if (free_rows_.empty()) {
    if (config_.capacity == 0 || rows_.used() < config_.capacity) return rows_.append();
    index_.remove_before(recency_.oldest(), kReclaim, free_rows_);
    for (const std::uint32_t row : free_rows_) rows_.prefetch(row, rows_.layout().bytes);
  }
  SATRAP_ASSERT(!free_rows_.empty());
  const std::uint32_t row = free_rows_.back();
  free_rows_.pop_back();
  return row;
}

std::uint32_t Table::Impl::new_row(FeatureId id, std::uint64_t hash, Entry entry,
                                   Recency::Bin bin) {
  if (entry) {  // Its id comes back before its memory was taken.
    entry.bin() = bin;
    return entry.row();
  }
  const std::uint32_t row = take_row();
  rows_.set_id(row, id);
  try {
    index_.insert(hash, row, bin);
  } catch (...) {
    free_rows_.push_back(row);
    throw;
  }
  return row;
}

void Table::Impl::initialize(std::uint32_t row, FeatureId id) noexcept {
  initialize_row_(seed_, id_, id, static_cast<float>(config_.init_range), dim(),
                  rows_.weights(row));
  std::fill_n(rows_.state(row), optimizer_.state_floats(), optimizer_.initial_state());
  rows_.set_updates(row, 0);
}

void Table::Impl::lookup(std::span<const FeatureId> ids, float* out) {
  if (ids.empty()) return;
  check_fits(ids.size());
  recency_.begin_batch(static_cast<std::int64_t>(ids.size()), sweep());
  missing_.clear();
  index_.visit(ids, weights_end(), [&](std::size_t i, std::uint64_t, Entry entry) {
    if (!live(entry)) {
      missing_.push_back(i);
      return;
    }
    const Recency::Bin bin = recency_.touch(entry.bin());
    if (bin != entry.bin()) entry.bin() = bin;
    copy_floats(rows_.weights(entry.row()), dim(), out + i * dim());
  });
  statistics_.hits += static_cast<std::int64_t>(ids.size() - missing_.size());
  if (!missing_.empty()) insert_missing(ids, out);
}

void Table::Impl::insert_missing(std::span<const FeatureId> ids, float* out) {
  make_room(static_cast<std::int64_t>(missing_.size()));
  constexpr std::size_t kAhead = 16;
  for (std::size_t k = 0; k < missing_.size(); ++k) {
    if (k + kAhead < missing_.size()) index_.prefetch(index_.hash(ids[missing_[k + kAhead]]));
    const std::size_t i = missing_[k];
    const std::uint64_t hash = index_.hash(ids[i]);
    const Entry entry = index_.find(ids[i], hash);
    std::uint32_t row = 0;
    if (live(entry)) {  // The batch has the id twice.
      row = entry.row();
    } else {
      const Recency::Bin bin = recency_.next();
      row = new_row(ids[i], hash, entry, bin);
      recency_.enter(bin);
      initialize(row, ids[i]);
      ++statistics_.inserted;
    }
    copy_floats(rows_.weights(row), dim(), out + i * dim());
  }
}

void Table::Impl::peek(std::span<const FeatureId> ids, float* out) const {
  index_.visit(ids, weights_end(), [&](std::size_t i, std::uint64_t, Entry entry) {
    if (live(entry)) {
      copy_floats(rows_.weights(entry.row()), dim(), out + i * dim());
    } else {
      std::fill_n(out + i * dim(), dim(), 0.0f);
    }
  });
}

void Table::Impl::apply(std::span<const FeatureId> ids, const float* gradients,
                        const UpdateContext& context) {
  Hyper hyper = optimizer_.hyper(context.step, context.lr_factor);
  std::int64_t dropped = 0;
  index_.visit(ids, rows_.layout().bytes, [&](std::size_t i, std::uint64_t, Entry entry) {
    if (!live(entry)) {
      ++dropped;
      return;
    }
    const std::uint32_t row = entry.row();
    if (optimizer_.keeps_updates()) {
      const std::uint32_t t = rows_.updates(row) + 1;
      rows_.set_updates(row, t);
      optimizer_.correct_bias(hyper, t);
    }
    optimizer_.update(hyper, dim(), gradients + i * dim(), rows_.weights(row), rows_.state(row));
  });
  statistics_.gradients_dropped += dropped;
  statistics_.gradients_applied += static_cast<std::int64_t>(ids.size()) - dropped;
}

TableStatistics Table::Impl::statistics() const noexcept {
  TableStatistics statistics = statistics_;
  statistics.rows = size();
  statistics.bytes =
      arena_.bytes() + rows_.metadata_bytes() + index_.metadata_bytes() +
      static_cast<std::int64_t>(free_rows_.capacity() * sizeof(std::uint32_t) +
                                missing_.capacity() * sizeof(std::size_t) + sizeof(Impl));
  return statistics;
}

Table::Table(TableId id, const config::TableConfig& config, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(id, config, seed)) {}
Table::~Table() = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(Table&&) noexcept = default;

void Table::lookup(std::span<const FeatureId> ids, Missing missing, float* out) {
  if (missing == Missing::insert) {
    impl_->lookup(ids, out);
  } else {
    impl_->peek(ids, out);
  }
}

void Table::apply(std::span<const FeatureId> ids, const float* gradients,
                  const UpdateContext& context) {
  impl_->apply(ids, gradients, context);
}

RowOrder Table::order_rows(std::uint32_t virtual_shards) const {
  return impl_->order_rows(virtual_shards);
}
void Table::export_rows(std::span<const RowNumber> rows, RowBlock& block) const {
  impl_->export_rows(rows, block);
}
void Table::import_rows(const RowBlock& block) {
  impl_->import_rows(block);
}

std::int64_t Table::bytes_per_row(const config::TableConfig& config) {
  const RowOptimizer optimizer(checked(config));
  return static_cast<std::int64_t>(layout_of(config, optimizer).bytes) + Index::kBytesPerEntry;
}

const config::TableConfig& Table::config() const noexcept {
  return impl_->config();
}
std::int64_t Table::dim() const noexcept {
  return impl_->config().dim;
}
std::int64_t Table::state_floats() const noexcept {
  return impl_->state_floats();
}
std::int64_t Table::size() const noexcept {
  return impl_->size();
}
TableStatistics Table::statistics() const noexcept {
  return impl_->statistics();
}

}  // namespace satrap::store
