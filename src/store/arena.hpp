#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace satrap::store {

/// Memory of one table in blocks the size of a huge page. Address space is mapped ahead in larger
/// chunks (so that a terabyte needs few mappings), but the kernel gives memory only to blocks that
/// are used. Blocks never move and live as long as the arena.
class Arena {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{2} << 20;

  /// `owner` is who needs the memory, for messages: "table 'C1'".
  explicit Arena(std::string owner);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// A zero-filled block of kBlockBytes, aligned to its size. Throws InternalError if the system
  /// has no memory left.
  std::byte* allocate();

  const std::string& owner() const noexcept { return owner_; }
  /// Bytes of the blocks handed out.
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  struct Mapping {
    void* address;
    std::size_t bytes;
  };

  void map_chunk();

  std::string owner_;
  std::vector<Mapping> mappings_;
  std::byte* free_ = nullptr;  ///< The next block of the newest mapping.
  std::byte* end_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace satrap::store
