#include "workload.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "store/index.hpp"
#include "store/prefetch.hpp"

namespace satrap::bench {

PlainRows::PlainRows(std::int64_t rows, std::size_t stride, std::int64_t dim, bool touched)
    : rows_(rows),
      stride_(stride),
      dim_(static_cast<std::size_t>(dim)),
      bytes_(static_cast<std::size_t>(rows) * stride + store::Arena::kBlockBytes) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, bytes_, MADV_HUGEPAGE);
  memory_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; touched && i < bytes_; i += 4096) memory_[i] = std::byte{1};
}

PlainRows::~PlainRows() {
  munmap(memory_, bytes_);
}

template <class Visit>
void PlainRows::visit(std::span<const std::uint32_t> places, Visit&& visit) const {
  constexpr std::size_t kAhead = 16;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) {
      const std::byte* next = memory_ + places[i + kAhead] * stride_;
      for (std::size_t b = 0; b < dim_ * sizeof(float); b += 64) store::prefetch_line(next + b);
      store::prefetch_line(next + dim_ * sizeof(float) - 1);
    }
    visit(i, reinterpret_cast<float*>(memory_ + places[i] * stride_));
  }
}

void PlainRows::gather(std::span<const std::uint32_t> places, float* out) const {
  visit(places, [&](std::size_t i, const float* __restrict row) {
    float* __restrict to = out + i * dim_;
    for (std::size_t k = 0; k < dim_; ++k) to[k] = row[k];
  });
}

void PlainRows::add(std::span<const std::uint32_t> places, const float* values) {
  visit(places, [&](std::size_t i, float* __restrict row) {
    const float* __restrict from = values + i * dim_;
    for (std::size_t k = 0; k < dim_; ++k) row[k] += from[k];
  });
}

void PlainRows::write(std::span<const std::uint32_t> places, const float* values) {
  visit(places, [&](std::size_t i, float* __restrict row) {
    const float* __restrict from = values + i * dim_;
    for (std::size_t k = 0; k < dim_; ++k) row[k] = from[k];
  });
}

config::TableConfig table_config(std::int64_t dim, config::Optimizer optimizer,
                                 std::int64_t capacity) {
  config::TableConfig config;
  config.name = "bench";
  config.dim = dim;
  config.optimizer = optimizer;
  config.capacity = capacity;
  return config;
}

std::size_t row_stride(const config::TableConfig& config) {
  return static_cast<std::size_t>(store::Table::bytes_per_row(config) -
                                  store::Index::kBytesPerEntry);
}

Workload::Workload(std::int64_t dim, std::int64_t rows, config::Optimizer optimizer)
    : config(table_config(dim, optimizer)),
      table(TableId{0}, config, 1),
      plain(rows, row_stride(config), dim),
      ids(kBatch),
      places(kBatch),
      values(kBatch * static_cast<std::size_t>(dim)),
      gradients(values.size()) {
  for (float& gradient : gradients) gradient = unit_float(random()) - 0.5f;
  std::vector<FeatureId> batch;
  for (std::uint64_t id = 0; id < static_cast<std::uint64_t>(rows); ++id) {
    batch.push_back(FeatureId{id});
    if (batch.size() < kBatch && id + 1 < static_cast<std::uint64_t>(rows)) continue;
    table.lookup(batch, store::Missing::insert, values.data());
    batch.clear();
  }
}

void Workload::draw() {
  // One row from each of kBatch equal parts, in random order: distinct and uniform.
  const auto part = static_cast<std::uint64_t>(plain.rows()) / kBatch;
  for (std::size_t i = 0; i < kBatch; ++i) {
    ids[i] = FeatureId{i * part + random.below(part)};
    places[i] = static_cast<std::uint32_t>(i * part + random.below(part));
  }
  for (std::size_t i = kBatch; i > 1; --i) {
    std::swap(ids[i - 1], ids[random.below(i)]);
    std::swap(places[i - 1], places[random.below(i)]);
  }
}

}  // namespace satrap::bench
