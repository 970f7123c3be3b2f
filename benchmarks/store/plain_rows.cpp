#include "plain_rows.hpp"

#include <sys/mman.h>

#include <new>

#include "store/arena.hpp"
#include "store/prefetch.hpp"

namespace satrap::bench {

PlainRows::PlainRows(std::int64_t rows, const store::RowLayout& layout, bool touched)
    : rows_(rows),
      stride_(layout.bytes),
      floats_((layout.weight_bytes + sizeof(float) - 1) / sizeof(float)),
      bytes_(static_cast<std::size_t>(rows) * stride_ + store::Arena::kBlockBytes) {
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
      for (std::size_t b = 0; b < floats_ * sizeof(float); b += 64) store::prefetch_line(next + b);
      store::prefetch_line(next + floats_ * sizeof(float) - 1);
    }
    visit(i, reinterpret_cast<float*>(memory_ + places[i] * stride_));
  }
}

void PlainRows::gather(std::span<const std::uint32_t> places, float* values) const {
  visit(places, [&](std::size_t i, const float* __restrict row) {
    float* __restrict to = values + i * floats_;
    for (std::size_t k = 0; k < floats_; ++k) to[k] = row[k];
  });
}

void PlainRows::add(std::span<const std::uint32_t> places, const float* values) {
  visit(places, [&](std::size_t i, float* __restrict row) {
    const float* __restrict from = values + i * floats_;
    for (std::size_t k = 0; k < floats_; ++k) row[k] += from[k];
  });
}

void PlainRows::write(std::span<const std::uint32_t> places, const float* values) {
  visit(places, [&](std::size_t i, float* __restrict row) {
    const float* __restrict from = values + i * floats_;
    for (std::size_t k = 0; k < floats_; ++k) row[k] = from[k];
  });
}

}  // namespace satrap::bench
