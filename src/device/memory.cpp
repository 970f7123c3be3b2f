#include "device/memory.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "core/error.hpp"

namespace satrap::device {
namespace {

std::atomic<std::int64_t>& counter(Backend backend) noexcept {
  static std::array<std::atomic<std::int64_t>, 2> bytes{};
  return bytes[static_cast<std::size_t>(backend)];
}

void* allocate_cpu(std::int64_t bytes) {
  const std::int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data =
      std::aligned_alloc(static_cast<std::size_t>(kAlignment), static_cast<std::size_t>(rounded));
  if (data == nullptr) {
    throw InternalError(fmt::format("cannot allocate {} bytes", bytes), "memory is short",
                        "use a smaller batch or model, or more memory per rank");
  }
  std::memset(data, 0, static_cast<std::size_t>(rounded));
  return data;
}

}  // namespace

Memory::Memory(Backend backend, std::int64_t bytes) : backend_(backend), bytes_(bytes) {
  if (bytes < 0) throw InternalError(fmt::format("cannot allocate {} bytes", bytes));
  if (bytes == 0) return;
  data_ = backend == Backend::cpu ? allocate_cpu(bytes) : cuda::allocate(bytes);
  counter(backend) += bytes;
}

Memory::~Memory() {
  if (data_ == nullptr) return;
  counter(backend_) -= bytes_;
  if (backend_ == Backend::cpu) {
    std::free(data_);
  } else {
    cuda::release(data_);
  }
}

Memory::Memory(Memory&& other) noexcept
    : backend_(other.backend_),
      bytes_(std::exchange(other.bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  Memory old(std::move(other));
  std::swap(backend_, old.backend_);
  std::swap(bytes_, old.bytes_);
  std::swap(data_, old.data_);
  return *this;
}

std::int64_t allocated_bytes(Backend backend) noexcept {
  return counter(backend);
}

}  // namespace satrap::device
