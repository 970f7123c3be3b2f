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
  const hn::ScalableTag<std::uint32_t> d;
  using Word = hn::Vec<decltype(d)>;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::RebindToFloat<decltype(d)> floats;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint64_t key = philox_key(seed, RandomStream::row_init);
  const auto uniform = [&](Word word) {
    const auto unit = hn::Mul(hn::ConvertTo(floats, hn::BitCast(integers, hn::ShiftRight<8>(word))),
                              hn::Set(floats, 0x1p-24f));
    return hn::Mul(hn::Set(floats, range),
                   hn::Sub(hn::Mul(hn::Set(floats, 2.0f), unit), hn::Set(floats, 1.0f)));
  };
  for (std::size_t i = 0; i < dim; i += 4 * lanes) {
    Word c[4] = {hn::Set(d, static_cast<std::uint32_t>(raw(id))),
                 hn::Set(d, static_cast<std::uint32_t>(raw(id) >> 32)),
                 hn::Iota(d, static_cast<std::uint32_t>(i / 4)), hn::Set(d, raw(table))};
    philox_blocks(key, c);
    HWY_ALIGN float values[4 * hn::MaxLanes(d)];
    float* to = i + 4 * lanes <= dim ? out + i : values;
    hn::StoreInterleaved4(uniform(c[0]), uniform(c[1]), uniform(c[2]), uniform(c[3]), floats, to);
    if (to == values) std::memcpy(out + i, values, (dim - i) * sizeof(float));
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
