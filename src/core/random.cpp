#include "core/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <cstddef>
#include <numbers>

namespace satrap {

std::array<std::uint32_t, 4> philox(std::uint64_t seed, RandomStream stream, std::uint64_t a,
                                    std::uint64_t b) noexcept {
  const std::uint64_t key = philox_key(seed, stream);
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32),
       static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32)}};
  const r123::Philox4x32::key_type k = {
      {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
  const auto out = r123::Philox4x32()(counter, k);
  return {out[0], out[1], out[2], out[3]};
}

void initial_row(std::uint64_t seed, TableId table, FeatureId id, float range,
                 std::span<float> out) noexcept {
  for (std::size_t i = 0; i < out.size(); i += 4) {
    // Counter b holds the table above and the block within the row below: rows have < 2^32 blocks.
    const std::uint64_t b = (std::uint64_t{raw(table)} << 32) | (i / 4);
    const auto words = philox(seed, RandomStream::row_init, raw(id), b);
    for (std::size_t k = 0; k < 4 && i + k < out.size(); ++k) {
      out[i + k] = range * (2.0f * unit_float(words[k]) - 1.0f);
    }
  }
}

RandomSequence::result_type RandomSequence::operator()() noexcept {
  if (used_ == block_.size()) {
    block_ = philox(seed_, stream_, counter_++, substream_);
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t RandomSequence::next64() noexcept {
  const std::uint64_t high = (*this)();
  return (high << 32) | (*this)();
}

double RandomSequence::uniform() noexcept {
  return static_cast<double>(next64() >> 11) * 0x1p-53;
}

std::uint64_t RandomSequence::below(std::uint64_t bound) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(next64()) * bound >> 64);
}

double RandomSequence::normal() noexcept {
  const double u = 1.0 - uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace satrap
