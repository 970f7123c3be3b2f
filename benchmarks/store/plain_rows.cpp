#include "plain_rows.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

#include "core/hash.hpp"
#include "store/arena.hpp"
#include "store/index.hpp"
#include "store/prefetch.hpp"

namespace satrap::bench {

PlainMemory::PlainMemory(std::size_t bytes, bool touched)
    : bytes_(bytes + store::Arena::kBlockBytes) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, bytes_, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; touched && i < bytes_; i += 4096) data_[i] = std::byte{1};
}

PlainMemory::~PlainMemory() {
  munmap(data_, bytes_);
}

PlainRows::PlainRows(std::int64_t rows, const store::RowLayout& layout, bool touched)
    : rows_(rows),
      stride_(layout.bytes),
      floats_((layout.weight_bytes + sizeof(float) - 1) / sizeof(float)),
      memory_(static_cast<std::size_t>(rows) * stride_, touched) {}

template <class Visit>
void PlainRows::visit(std::span<const std::uint32_t> places, Visit&& visit) const {
  constexpr std::size_t kAhead = 16;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) {
      const std::byte* next = memory_.data() + places[i + kAhead] * stride_;
      for (std::size_t b = 0; b < floats_ * sizeof(float); b += 64) store::prefetch_line(next + b);
      store::prefetch_line(next + floats_ * sizeof(float) - 1);
    }
    visit(i, reinterpret_cast<float*>(memory_.data() + places[i] * stride_));
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

PlainIndex::PlainIndex(std::int64_t rows)
    : memory_(static_cast<std::size_t>(rows) * store::Index::kBytesPerEntry, true),
      lines_(static_cast<std::uint64_t>(rows * store::Index::kBytesPerEntry) / 64) {}

std::uint64_t PlainIndex::look(std::span<const std::uint32_t> places) const {
  const auto line = [&](std::uint32_t place) {
    return memory_.data() + ((mix(place) >> 32) * lines_ >> 32) * 64;
  };
  constexpr std::size_t kAhead = 32;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i + kAhead < places.size()) store::prefetch_line(line(places[i + kAhead]));
    std::uint64_t word = 0;
    std::memcpy(&word, line(places[i]), sizeof word);
    sum += word;
  }
  return sum;
}

}  // namespace satrap::bench
