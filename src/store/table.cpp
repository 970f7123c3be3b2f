#include "store/table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "store/index_visit.hpp"
#include "store/table_impl.hpp"
#include "store/table_limits.hpp"

namespace satrap::store {
namespace {

/// Dead rows whose memory is taken at a time: enough to fetch them together.
constexpr std::size_t kReclaim = 256;
/// While there is other memory, dead rows are looked for when there are more than one in so many.
constexpr std::int64_t kWorthReclaiming = 64;

RowLayout layout_of(const config::TableConfig& config) {
  return RowOps(TableId{0}, checked(config), 0).layout();
}

}  // namespace

Table::Impl::Impl(TableId id, const config::TableConfig& config, std::uint64_t seed)
    : id_(id),
      config_(checked(config)),
      ops_(id, config_, seed),
      arena_(fmt::format("table '{}'", config_.name)),
      rows_(arena_, layout().bytes),
      index_(arena_, rows_, mix(seed + raw(id))),
      queue_(config_, store::capacity_in_rows(config_, layout())),
      most_admitted_hash_(config_.admit_share < 1
                              ? static_cast<std::uint64_t>(std::ldexp(config_.admit_share, 64))
                              : std::numeric_limits<std::uint64_t>::max()),
      absent_(dim()) {
  free_rows_.reserve(kReclaim);
  if (config_.admit_after > 1) {
    appearances_.emplace(arena_.owner(), admission_window(config_, capacity()));
  }
  if (config_.not_admitted == config::NotAdmitted::shared_row) {
    std::vector<std::byte> row(layout().bytes);
    ops_.initialize(FeatureId{std::numeric_limits<std::uint64_t>::max()}, row.data());
    ops_.read(row.data(), absent_.data());
  }
}

void Table::Impl::check_fits(std::size_t ids) const {
  if (capacity() == 0 || static_cast<std::int64_t>(ids) <= capacity()) return;
  throw DataError(fmt::format("table '{}': a batch of {} distinct ids", config_.name, ids),
                  fmt::format("this server's part of the capacity is {} rows", capacity()),
                  "raise the table's capacity or lower the batch size");
}

void Table::Impl::count(const Index::Probes& probes) noexcept {
  statistics_.searches += probes.searches;
  statistics_.probes += probes.buckets;
  statistics_.longest_probe = std::max(statistics_.longest_probe, probes.longest);
}

void Table::Impl::make_room(std::int64_t n) {
  if (capacity() == 0 || size() + n <= capacity()) return;
  if (config_.eviction == config::Eviction::none) {
    throw DataError(fmt::format("table '{}' is full: {} of this server's {} rows, and {} new ids",
                                config_.name, size(), capacity(), n),
                    "eviction is off", "raise the table's capacity or set eviction = lru");
  }
  statistics_.evicted += queue_.make_room(n);
}

std::uint32_t Table::Impl::take_row() {
  if (free_rows_.empty()) {
    const bool may_grow = capacity() == 0 || rows_.used() < capacity();
    if (may_grow && queue_.dead() * kWorthReclaiming <= rows_.used()) return rows_.append();
    index_.remove_dead(queue_, kReclaim, free_rows_);
    for (const std::uint32_t row : free_rows_) Rows::prefetch(rows_.at(row), layout().bytes);
  }
  SATRAP_ASSERT(!free_rows_.empty());
  const std::uint32_t row = free_rows_.back();
  free_rows_.pop_back();
  return row;
}

std::uint32_t Table::Impl::new_row(FeatureId id, std::uint64_t hash, Entry entry,
                                   EvictionQueue::Bin bin) {
  if (entry) {  // Its id comes back before its memory was taken.
    queue_.reclaimed(entry.bin());
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

void Table::Impl::lookup(std::span<const FeatureId> ids, Step step, float* out) {
  if (ids.empty()) return;
  check_fits(ids.size());
  statistics_.evicted += queue_.begin_batch(static_cast<std::int64_t>(ids.size()), step, sweep());
  missing_.clear();
  count(index_.visit(ids, layout().state,
                     [&](std::size_t i, std::uint64_t hash, Entry entry, const std::byte* row) {
                       if (!live(entry)) {
                         missing_.push_back(i);
                         return;
                       }
                       const EvictionQueue::Bin bin = queue_.touch(entry.bin(), hash);
                       if (bin != entry.bin()) entry.bin() = bin;
                       ops_.read(row, out + i * dim());
                     }));
  statistics_.hits += static_cast<std::int64_t>(ids.size() - missing_.size());
  if (missing_.empty()) return;
  admit_missing(ids, out);
  insert_missing(ids, out);
}

bool Table::Impl::admitted(std::uint64_t hash) noexcept {
  // Mixed once more: the hash itself says where the id stands in the index.
  if (mix(hash) > most_admitted_hash_) return false;
  return !appearances_ || appearances_->count(hash, static_cast<unsigned>(config_.admit_after));
}

void Table::Impl::admit_missing(std::span<const FeatureId> ids, float* out) {
  if (!appearances_ && config_.admit_share == 1) return;
  constexpr std::size_t kAhead = 16;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < missing_.size(); ++k) {
    if (appearances_ && k + kAhead < missing_.size()) {
      appearances_->prefetch(index_.hash(ids[missing_[k + kAhead]]));
    }
    const std::size_t i = missing_[k];
    if (admitted(index_.hash(ids[i]))) {
      missing_[kept++] = i;
    } else {
      std::copy(absent_.begin(), absent_.end(), out + i * dim());
    }
  }
  statistics_.not_admitted += static_cast<std::int64_t>(missing_.size() - kept);
  missing_.resize(kept);
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
      const EvictionQueue::Bin bin = queue_.next();
      row = new_row(ids[i], hash, entry, bin);
      queue_.enter(bin);
      ops_.initialize(ids[i], rows_.at(row));
      ++statistics_.inserted;
    }
    ops_.read(rows_.at(row), out + i * dim());
  }
}

void Table::Impl::peek(std::span<const FeatureId> ids, float* out) const {
  index_.visit(ids, layout().state,
               [&](std::size_t i, std::uint64_t, Entry entry, const std::byte* row) {
                 if (live(entry)) {
                   ops_.read(row, out + i * dim());
                 } else {
                   std::copy(absent_.begin(), absent_.end(), out + i * dim());
                 }
               });
}

void Table::Impl::apply(std::span<const FeatureId> ids, const float* gradients,
                        const UpdateContext& context) {
  const Hyper hyper = ops_.hyper(context);
  std::int64_t dropped = 0;
  count(index_.visit(ids, layout().bytes,
                     [&](std::size_t i, std::uint64_t, Entry entry, std::byte* row) {
                       if (live(entry)) {
                         ops_.update(hyper, ids[i], gradients + i * dim(), row);
                       } else {
                         ++dropped;
                       }
                     }));
  statistics_.gradients_dropped += dropped;
  statistics_.gradients_applied += static_cast<std::int64_t>(ids.size()) - dropped;
}

TableStatistics Table::Impl::statistics() const noexcept {
  TableStatistics statistics = statistics_;
  statistics.rows = size();
  statistics.capacity = capacity();
  statistics.row_bytes = rows_.bytes();
  statistics.index_bytes = arena_.bytes() - rows_.bytes();
  statistics.admission_bytes = appearances_ ? appearances_->bytes() : 0;
  statistics.other_bytes =
      rows_.metadata_bytes() + index_.metadata_bytes() +
      static_cast<std::int64_t>(free_rows_.capacity() * sizeof(std::uint32_t) +
                                missing_.capacity() * sizeof(std::size_t) + sizeof(Impl));
  statistics.slots = index_.slots();
  return statistics;
}

Table::Table(TableId id, const config::TableConfig& config, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(id, config, seed)) {}
Table::~Table() = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(Table&&) noexcept = default;

void Table::lookup(std::span<const FeatureId> ids, Step step, float* out) {
  impl_->lookup(ids, step, out);
}
void Table::peek(std::span<const FeatureId> ids, float* out) const {
  impl_->peek(ids, out);
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

void Table::save_admission(std::vector<std::uint16_t>& cells) const {
  cells.clear();
  if (impl_->appearances()) impl_->appearances()->save(cells);
}
bool Table::restore_admission(std::span<const std::uint16_t> cells) {
  return impl_->appearances() ? impl_->appearances()->restore(cells) : cells.empty();
}

std::int64_t Table::bytes_per_row(const config::TableConfig& config) {
  return store::bytes_per_row(config, layout_of(config));
}
std::int64_t Table::admission_bytes(const config::TableConfig& config) {
  return store::admission_bytes(checked(config));
}
std::int64_t Table::capacity_in_rows(const config::TableConfig& config) {
  return store::capacity_in_rows(config, layout_of(config));
}
std::int64_t Table::bytes_for(config::TableConfig config, std::int64_t rows) {
  config.capacity_bytes = std::numeric_limits<std::int64_t>::max();  // enough: it is asked for here
  return store::bytes_for(config, layout_of(config), rows);
}

const config::TableConfig& Table::config() const noexcept {
  return impl_->config();
}
const RowLayout& Table::layout() const noexcept {
  return impl_->ops().layout();
}
std::int64_t Table::dim() const noexcept {
  return impl_->config().dim;
}
std::int64_t Table::state_values() const noexcept {
  return impl_->ops().state_values();
}
config::Storage Table::state_storage() const noexcept {
  return impl_->config().moments;
}
std::int64_t Table::size() const noexcept {
  return impl_->size();
}
TableStatistics Table::statistics() const noexcept {
  return impl_->statistics();
}

}  // namespace satrap::store
