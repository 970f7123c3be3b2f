#include "store/rows.hpp"

#include <bit>

#include "core/error.hpp"

namespace satrap::store {

Rows::Rows(Arena& arena, std::size_t row_bytes)
    : arena_(&arena),
      row_bytes_(row_bytes),
      per_slab_(static_cast<std::uint32_t>(Arena::kBlockBytes / row_bytes)),
      place_bits_(static_cast<unsigned>(std::bit_width(per_slab_ - 1))),
      place_mask_((1U << place_bits_) - 1),
      place_(per_slab_) {
  SATRAP_EXPECT(per_slab_ > 0);
}

std::int64_t Rows::metadata_bytes() const noexcept {
  return static_cast<std::int64_t>(slabs_.capacity() * sizeof(std::byte*));
}

std::uint32_t Rows::append() {
  if (place_ == per_slab_) {
    if (slabs_.size() > 0xffffffffU >> place_bits_) {
      throw InternalError(
          fmt::format("{} cannot hold more than {} rows on one server", arena_->owner(), used_),
          "row numbers have 32 bits", "use more servers");
    }
    slabs_.push_back(arena_->allocate());
    place_ = 0;
  }
  ++used_;
  const auto slab = static_cast<std::uint32_t>(slabs_.size() - 1);
  return (slab << place_bits_) | place_++;
}

}  // namespace satrap::store
