#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "store/kernels/kernels.hpp"

// Highway compiles this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "store/kernels/storage.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "store/kernels/philox.hpp"

HWY_BEFORE_NAMESPACE();
namespace satrap::store::HWY_NAMESPACE {
namespace {

// The order of the random words (RowRandom) is made for vectors of this many lanes; narrower ones
// take several steps.
constexpr std::size_t kLanes = 16;
using Floats = hn::CappedTag<float, kLanes>;
using Words = hn::RebindToUnsigned<Floats>;
using Integers = hn::RebindToSigned<Floats>;
using Shorts = hn::Rebind<std::uint16_t, Floats>;
using Bytes = hn::Rebind<std::int8_t, Floats>;
using Float = hn::Vec<Floats>;
using Word = hn::Vec<Words>;
using Integer = hn::Vec<Integers>;

constexpr std::int32_t kInfinity = 0x7F800000;

HWY_INLINE Integer set(std::int32_t value) {
  return hn::Set(Integers(), value);
}

// Rounding: drop<k>(x) is x / 2^k and whole<k>(y) is y as integers; the latter may look at the
// first k bits of the fraction only.

struct Nearest {
  static constexpr bool random = false;
  template <int kBits>
  static HWY_INLINE Integer drop(Integer x, Word) {
    const Integer odd = hn::And(hn::ShiftRight<kBits>(x), set(1));
    return hn::ShiftRight<kBits>(hn::Add(x, hn::Add(odd, set((1 << (kBits - 1)) - 1))));
  }
  template <int kBits>
  static HWY_INLINE Integer whole(Float y, Word) {
    return hn::NearestInt(y);
  }
};

/// Up with the probability of the fraction: adds random bits below the point, then cuts.
struct Stochastic {
  static constexpr bool random = true;
  template <int kBits>
  static HWY_INLINE Integer drop(Integer x, Word word) {
    const Integer noise = hn::BitCast(Integers(), hn::ShiftRight<32 - kBits>(word));
    return hn::ShiftRight<kBits>(hn::Add(x, noise));
  }
  template <int kBits>
  static HWY_INLINE Integer whole(Float y, Word word) {
    constexpr auto kUnit = static_cast<float>(1 << kBits);
    return drop<kBits>(hn::NearestInt(hn::Mul(y, hn::Set(Floats(), kUnit))), word);
  }
};

/// The parts of fp32 numbers.
struct Bits {
  explicit HWY_INLINE Bits(Float x)
      : magnitude(hn::And(hn::BitCast(Integers(), x), set(0x7FFFFFFF))),
        sign(hn::BitCast(Integers(), hn::ShiftRight<31>(hn::BitCast(Words(), x)))) {}
  Integer magnitude;
  Integer sign;  ///< 0 or 1

  /// `finite` with the sign in bit 15, or infinity or NaN of a 16-bit type.
  HWY_INLINE Integer to_16(Integer finite, std::int32_t infinity, std::int32_t nan) const {
    const Integer special =
        hn::IfThenElse(hn::Gt(magnitude, set(kInfinity)), set(nan), set(infinity));
    const Integer value = hn::IfThenElse(hn::Gt(set(kInfinity), magnitude), finite, special);
    return hn::Or(value, hn::ShiftLeft<15>(sign));
  }
};

// Storage types. An encoder is made for the values [n] of a row and rounds one vector after the
// other.

/// bf16 is the upper half of fp32.
struct Bf16 {
  using Stored = std::uint16_t;
  using StoredTag = Shorts;

  static HWY_INLINE Float decode(hn::Vec<Shorts> stored, float) {
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), stored)));
  }

  Bf16(const float*, std::size_t, std::byte*) {}
  template <class Rounding>
  HWY_INLINE hn::Vec<Shorts> encode(Float x, Word word) const {
    const Bits bits(x);
    const Integer finite = hn::Min(Rounding::template drop<16>(bits.magnitude, word), set(0x7F7F));
    return hn::DemoteTo(Shorts(), bits.to_16(finite, 0x7F80, 0x7FC0));
  }
};

/// IEEE half precision: from 2^-14 on fp32 with 13 bits less and another bias; below, a whole
/// number of 2^-24.
struct Fp16 {
  using Stored = std::uint16_t;
  using StoredTag = Shorts;

  static HWY_INLINE Float decode(hn::Vec<Shorts> stored, float) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    const hn::Rebind<hwy::float16_t, Floats> halves;
    return hn::PromoteTo(Floats(), hn::BitCast(halves, stored));
#else
    const Integer bits = hn::PromoteTo(Integers(), stored);
    const Integer magnitude = hn::And(bits, set(0x7FFF));
    const Integer shifted = hn::ShiftLeft<13>(magnitude);
    const Integer normal = hn::Add(shifted, set(112 << 23));
    const Integer special = hn::Or(shifted, set(kInfinity));
    const Integer tiny = hn::BitCast(
        Integers(), hn::Mul(hn::ConvertTo(Floats(), magnitude), hn::Set(Floats(), 0x1p-24f)));
    const Integer large = hn::IfThenElse(hn::Gt(magnitude, set(0x7BFF)), special, normal);
    const Integer value = hn::IfThenElse(hn::Gt(set(0x0400), magnitude), tiny, large);
    return hn::BitCast(Floats(), hn::Or(value, hn::ShiftLeft<16>(hn::Sub(bits, magnitude))));
#endif
  }

  Fp16(const float*, std::size_t, std::byte*) {}
  template <class Rounding>
  HWY_INLINE hn::Vec<Shorts> encode(Float x, Word word) const {
    const Bits bits(x);
    const Integer normal = hn::Min(
        hn::Sub(Rounding::template drop<13>(bits.magnitude, word), set(112 << 10)), set(0x7BFF));
    const Integer tiny =
        Rounding::template whole<20>(hn::Mul(hn::Abs(x), hn::Set(Floats(), 0x1p24f)), word);
    const auto is_tiny = hn::Gt(set((127 - 14) << 23), bits.magnitude);
    return hn::DemoteTo(Shorts(),
                        bits.to_16(hn::IfThenElse(is_tiny, tiny, normal), 0x7C00, 0x7E00));
  }
};

/// Whole numbers of the scale, max|w| / 127. A row with NaN or infinity becomes NaN as a whole.
struct Int8 {
  using Stored = std::int8_t;
  using StoredTag = Bytes;

  static HWY_INLINE Float decode(hn::Vec<Bytes> stored, float scale) {
    const Float integers = hn::ConvertTo(Floats(), hn::PromoteTo(Integers(), stored));
    return hn::Mul(integers, hn::Set(Floats(), scale));
  }

  Int8(const float* values, std::size_t n, std::byte* stored) {
    // As integers magnitudes have the same order, with infinity and NaN above all others.
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      largest = std::max(largest, std::bit_cast<std::int32_t>(values[i]) & 0x7FFFFFFF);
    }
    // 127 * scale must fit fp32, and the scale must not be subnormal.
    const float max = std::min(std::bit_cast<float>(largest), 3.402e38f);
    scale = max < 0x1p-119f ? 0.0f : max / 127.0f;
    if (largest >= kInfinity) scale = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(stored - sizeof scale, &scale, sizeof scale);
  }
  template <class Rounding>
  HWY_INLINE hn::Vec<Bytes> encode(Float x, Word word) const {
    if (!(scale > 0)) return hn::Zero(Bytes());
    const Integer whole = Rounding::template whole<16>(hn::Div(x, hn::Set(Floats(), scale)), word);
    return hn::DemoteTo(Bytes(), hn::Max(set(-127), hn::Min(set(127), whole)));
  }

  float scale;
};

float scale_before(const std::byte* stored, bool has_scale) {
  float scale = 1.0f;
  if (has_scale) std::memcpy(&scale, stored - sizeof scale, sizeof scale);
  return scale;
}

template <class Type>
void decode(const std::byte* stored, std::size_t n, float* out) {
  using Stored = typename Type::Stored;
  const typename Type::StoredTag d;
  const Floats floats;
  const std::size_t lanes = hn::Lanes(floats);
  const float scale = scale_before(stored, std::is_same_v<Type, Int8>);
  const auto* in = reinterpret_cast<const Stored*>(stored);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(Type::decode(hn::LoadU(d, in + i), scale), floats, out + i);
  }
  if (i == n) return;
  alignas(64) Stored rest[kLanes] = {};
  alignas(64) float values[kLanes];
  std::memcpy(rest, in + i, (n - i) * sizeof(Stored));
  hn::Store(Type::decode(hn::Load(d, rest), scale), floats, values);
  std::memcpy(out + i, values, (n - i) * sizeof(float));
}

/// Rounds up to a vector of values.
template <class Rounding, class Type, class Stored>
HWY_INLINE void encode_vector(const Type& type, const float* values, std::size_t n, Word word,
                              Stored* out) {
  const Floats d;
  const typename Type::StoredTag stored;
  if (n >= hn::Lanes(d)) {
    hn::StoreU(type.template encode<Rounding>(hn::LoadU(d, values), word), stored, out);
    return;
  }
  alignas(64) float rest[kLanes] = {};
  alignas(64) Stored rounded[kLanes];
  std::memcpy(rest, values, n * sizeof(float));
  hn::Store(type.template encode<Rounding>(hn::Load(d, rest), word), stored, rounded);
  std::memcpy(out, rounded, n * sizeof(Stored));
}

HWY_INLINE Word swap_halves(Word word) {
  return hn::Or(hn::ShiftLeft<16>(word), hn::ShiftRight<16>(word));
}

template <class Type, class Rounding>
void encode(const float* values, std::size_t n, const RowRandom& random, std::byte* stored) {
  const Words d;
  const Type type(values, n, stored);
  auto* out = reinterpret_cast<typename Type::Stored*>(stored);
  const auto vector = [&](std::size_t at, Word word) {
    if (at < n) encode_vector<Rounding>(type, values + at, n - at, word, out + at);
  };
  for (std::size_t i = 0; i < n; i += 4 * kLanes) {
    for (std::size_t lane = 0; lane < kLanes; lane += hn::Lanes(d)) {
      Word first = hn::Zero(d);
      Word second = hn::Zero(d);
      if constexpr (Rounding::random) {
        const RandomWords words = philox_words(random.key, random.id, i / 8 + lane / 2,
                                               static_cast<std::uint32_t>(random.part));
        first = hn::BitCast(d, words.first);
        second = hn::BitCast(d, words.second);
      }
      const std::size_t at = i + lane;
      vector(at, first);
      vector(at + kLanes, second);
      vector(at + 2 * kLanes, swap_halves(first));
      vector(at + 3 * kLanes, swap_halves(second));
      if (at + hn::Lanes(d) >= n) break;
    }
  }
}

template <class Type>
StorageKernels kernels_of(config::Rounding rounding) {
  const bool nearest = rounding == config::Rounding::nearest;
  return {decode<Type>, nearest ? encode<Type, Nearest> : encode<Type, Stochastic>};
}

StorageKernels storage(config::Storage type, config::Rounding rounding) {
  switch (type) {
    case config::Storage::fp16:
      return kernels_of<Fp16>(rounding);
    case config::Storage::bf16:
      return kernels_of<Bf16>(rounding);
    case config::Storage::int8:
      return kernels_of<Int8>(rounding);
    case config::Storage::fp32:
      break;
  }
  return {};
}

}  // namespace
}  // namespace satrap::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace satrap::store {

HWY_EXPORT(storage);

StorageKernels storage_kernels(config::Storage type, config::Rounding rounding) {
  return HWY_DYNAMIC_DISPATCH(storage)(type, rounding);
}

}  // namespace satrap::store
#endif
