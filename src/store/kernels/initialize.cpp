#include <algorithm>
#include <cstring>

#include "core/random.hpp"
#include "store/kernels/kernels.hpp"

// Highway compiles this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "store/kernels/initialize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "store/kernels/philox.hpp"

HWY_BEFORE_NAMESPACE();
namespace satrap::store::HWY_NAMESPACE {
namespace {

void initialize(std::uint64_t seed, TableId table, FeatureId id, float range, std::size_t dim,
                float* out) {
  const Blocks d;
  const hn::Repartition<std::uint32_t, Blocks> words;
  const hn::RebindToSigned<decltype(words)> integers;
  const hn::RebindToFloat<decltype(words)> floats;
  const std::uint64_t key = philox_key(seed, RandomStream::row_init);
  const auto uniform = [&](hn::Vec<Blocks> random) {
    const auto upper = hn::ShiftRight<8>(hn::BitCast(words, random));
    const auto unit =
        hn::Mul(hn::ConvertTo(floats, hn::BitCast(integers, upper)), hn::Set(floats, 0x1p-24f));
    const auto signed_unit = hn::Sub(hn::Mul(hn::Set(floats, 2.0f), unit), hn::Set(floats, 1.0f));
    return hn::BitCast(d, hn::Mul(hn::Set(floats, range), signed_unit));
  };
  constexpr std::size_t kValues = 4 * hn::MaxLanes(d);
  for (std::size_t i = 0; i < dim; i += kValues) {
    const RandomWords random = philox_words(key, id, i / 4, raw(table));
    HWY_ALIGN std::uint64_t values[kValues / 2];
    hn::StoreInterleaved2(uniform(random.first), uniform(random.second), d, values);
    std::memcpy(out + i, values, std::min(kValues, dim - i) * sizeof(float));
  }
}

InitializeRow initialize_row() {
  return initialize;
}

}  // namespace
}  // namespace satrap::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace satrap::store {

HWY_EXPORT(initialize_row);

InitializeRow initialize_kernel() {
  return HWY_DYNAMIC_DISPATCH(initialize_row)();
}

}  // namespace satrap::store
#endif
