#include "store/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace satrap::store {
namespace {

constexpr std::size_t kMaxChunkBytes = 32 * Arena::kBlockBytes;

}  // namespace

Arena::Arena(std::string owner) : owner_(std::move(owner)) {}

Arena::~Arena() {
  for (const Mapping& mapping : mappings_) munmap(mapping.address, mapping.bytes);
}

std::byte* Arena::allocate() {
  if (free_ == end_) map_chunk();
  std::byte* block = free_;
  free_ += kBlockBytes;
  bytes_ += static_cast<std::int64_t>(kBlockBytes);
  return block;
}

void Arena::map_chunk() {
  // An eighth of what there is: where address space is limited too, a table does not claim much
  // more of it than it uses.
  const std::size_t wanted = static_cast<std::size_t>(bytes_) / 8 / kBlockBytes * kBlockBytes;
  const std::size_t chunk = std::clamp(wanted, kBlockBytes, kMaxChunkBytes);
  // One block more than the chunk leaves room to align it.
  const std::size_t bytes = chunk + kBlockBytes;
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    throw InternalError(
        fmt::format("{} cannot grow beyond {} MiB", owner_, bytes_ >> 20),
        fmt::format("the system refuses {} MiB more: {}", bytes >> 20, std::strerror(errno)),
        "limit the table's capacity, use more servers or machines with more memory");
  }
  mappings_.push_back({address, bytes});
  // Advice only: without huge pages the table works, more slowly. A small table, which has a block
  // of rows and one of index, takes the few pages that it touches instead.
  if (bytes_ >= static_cast<std::int64_t>(2 * kBlockBytes)) madvise(address, bytes, MADV_HUGEPAGE);
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  free_ = reinterpret_cast<std::byte*>((start + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
  end_ = free_ + chunk;
}

}  // namespace satrap::store
