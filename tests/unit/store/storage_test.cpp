#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "unit/store/one_row.hpp"
#include "unit/store/storage_types.hpp"

namespace satrap::store {
namespace {

using config::Rounding;
using config::Storage;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr Rounding kRoundings[] = {Rounding::stochastic, Rounding::nearest};

/// Values in a storage type.
struct Stored {
  Stored(Storage type, std::size_t n) : storage(type), size(n), bytes(4 + n * bytes_of(type)) {}
  Stored(Storage type, Rounding rounding, std::span<const float> values, std::uint64_t key = 1,
         RowPart part = RowPart::weights)
      : Stored(type, values.size()) {
    storage_kernels(type, rounding).encode(values.data(), size, {key, FeatureId{2}, part}, at());
  }
  std::byte* at() { return bytes.data() + 4; }
  std::vector<float> decoded() const {
    std::vector<float> out(size);
    storage_kernels(storage, Rounding::nearest).decode(bytes.data() + 4, size, out.data());
    return out;
  }

  Storage storage;
  std::size_t size;
  std::vector<std::byte> bytes;  ///< A scale or nothing, then the values.
};

std::vector<float> round(Storage type, Rounding rounding, std::span<const float> values,
                         std::uint64_t key = 1, RowPart part = RowPart::weights) {
  return Stored(type, rounding, values, key, part).decoded();
}

std::vector<float> many_sizes(std::size_t n, int from, int to) {
  RandomSequence random(3, RandomStream::teacher);
  std::vector<float> values;
  for (std::size_t i = 0; i < n; ++i) {
    const float x = 2.0f * unit_float(random()) - 1.0f;
    values.push_back(std::ldexp(
        x, from + static_cast<int>(random.below(static_cast<std::uint64_t>(to - from)))));
  }
  return values;
}

TEST(Storage, DecodesEvery16BitPattern) {
  for (const auto type : {Storage::fp16, Storage::bf16}) {
    const int fraction_bits = type == Storage::fp16 ? 10 : 7;
    const int largest_exponent = type == Storage::fp16 ? 31 : 255;
    const int bias = type == Storage::fp16 ? 15 : 127;
    for (const auto target : targets()) {
      const OnlyTarget only(target);
      Stored all(type, 65536);
      for (std::uint32_t i = 0; i < 65536; ++i) {
        const auto pattern = static_cast<std::uint16_t>(i);
        std::memcpy(all.at() + 2 * i, &pattern, 2);
      }
      const auto values = all.decoded();
      for (std::uint32_t i = 0; i < 65536; ++i) {
        const int exponent = static_cast<int>((i & 0x7FFF) >> fraction_bits);
        const auto fraction = static_cast<double>(i & ((1U << fraction_bits) - 1));
        const double mantissa = std::ldexp(fraction, -fraction_bits) + (exponent > 0 ? 1 : 0);
        double expected = std::ldexp(mantissa, std::max(exponent, 1) - bias);
        if (exponent == largest_exponent && fraction == 0) expected = kInf;
        if (exponent == largest_exponent && fraction != 0) {
          ASSERT_TRUE(std::isnan(values[i])) << i;
          continue;
        }
        ASSERT_EQ(std::abs(values[i]), expected) << i;
        ASSERT_EQ(std::signbit(values[i]), i >= 32768) << i;
      }
    }
  }
}

TEST(Storage, RepresentableValuesStay) {
  for (const auto type : {Storage::fp16, Storage::bf16}) {
    Stored all(type, 65536);
    for (std::uint32_t i = 0; i < 65536; ++i) {
      const auto pattern = static_cast<std::uint16_t>(i);
      std::memcpy(all.at() + 2 * i, &pattern, 2);
    }
    const auto values = all.decoded();
    for (const auto rounding : kRoundings) {
      for (std::uint64_t key = 1; key < 4; ++key) {
        const auto again = round(type, rounding, values, key);
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (std::isnan(values[i])) {
            ASSERT_TRUE(std::isnan(again[i]));
          } else {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(again[i]),
                      std::bit_cast<std::uint32_t>(values[i]));
          }
        }
      }
    }
  }
  for (const float largest : {1.0f, 0.0123f, 3e-20f, 777.0f, 1.9999999f}) {
    std::vector<float> values(255);
    for (int q = -127; q <= 127; ++q) {
      values[static_cast<std::size_t>(q + 127)] = static_cast<float>(q) * (largest / 127.0f);
    }
    const auto once = round(Storage::int8, Rounding::nearest, values);
    for (const auto rounding : kRoundings) {
      EXPECT_EQ(round(Storage::int8, rounding, once), once) << largest;
    }
  }
}

TEST(Storage, NearestIsTheNearestTiesToEven) {
  for (const auto type : {Storage::fp16, Storage::bf16}) {
    const int lowest = type == Storage::fp16 ? -30 : -125;
    auto values = many_sizes(20001, lowest, 15);
    for (int i = 0; i < 100; ++i) values.push_back(1.0f + static_cast<float>(i) * 0x1p-12f);
    const auto rounded = round(type, Rounding::nearest, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double step = step_at(type, values[i]);
      ASSERT_EQ(rounded[i], std::nearbyint(values[i] / step) * step) << values[i];
    }
  }
  const auto values = many_sizes(1001, -6, 0);
  float largest = 0;
  for (const float x : values) largest = std::max(largest, std::abs(x));
  const float scale = largest / 127.0f;
  const auto rounded = round(Storage::int8, Rounding::nearest, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(rounded[i], std::nearbyint(values[i] / scale) * scale);
  }
}

TEST(Storage, StochasticTakesOneOfTheTwoNeighbours) {
  for (const auto type : {Storage::fp16, Storage::bf16}) {
    const auto values = many_sizes(20001, type == Storage::fp16 ? -30 : -125, 15);
    const auto rounded = round(type, Rounding::stochastic, values);
    std::size_t up = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double step = step_at(type, values[i]);
      const double below = std::floor(values[i] / step) * step;
      ASSERT_TRUE(rounded[i] == below || rounded[i] == below + step) << values[i];
      up += rounded[i] > values[i];
    }
    EXPECT_NEAR(static_cast<double>(up), 10000, 600);
  }
}

/// Largest |z| over `values` of the mean of `n` roundings against the value. Under unbiased
/// rounding each z is standard normal; each value gets one element of a row and `n` keys.
double worst_z(Storage type, Rounding rounding, const std::vector<float>& values, int n) {
  std::vector<double> sum(values.size());
  for (int key = 0; key < n; ++key) {
    const auto rounded = round(type, rounding, values, static_cast<std::uint64_t>(key));
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += rounded[i];
  }
  float largest = 0;
  for (const float x : values) largest = std::max(largest, std::abs(x));
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double step = type == Storage::int8 ? largest / 127.0f : step_at(type, values[i]);
    const double fraction = values[i] / step - std::floor(values[i] / step);
    const double deviation = step * std::sqrt(fraction * (1 - fraction) / n);
    // A fraction that one in n roundings does not see has no normal mean.
    if (fraction * (1 - fraction) * n < 100) continue;
    worst = std::max(worst, std::abs(sum[i] / n - values[i]) / deviation);
  }
  return worst;
}

// 800 values a type: an unbiased rounding would exceed 5.5 once in 30,000 choices of keys, and the
// keys are fixed. A bias of 1/100 of a step gives at least |z| = 2 sqrt(n) / 100 = 6.3.
TEST(Storage, StochasticRoundingIsUnbiased) {
  constexpr int kRoundingsPerValue = 100'000;
  const auto worst = [&](Storage type, Rounding rounding, int from, int to) {
    return worst_z(type, rounding, many_sizes(400, from, to), kRoundingsPerValue);
  };
  for (const auto type : kTypes) {
    // Near 1; and near 1e-6 and below, where fp16 is subnormal.
    for (const auto& [from, to] : {std::pair{-6, 1}, std::pair{-26, -18}}) {
      EXPECT_LT(worst(type, Rounding::stochastic, from, to), 5.5) << name_of(type) << from;
      EXPECT_GT(worst_z(type, Rounding::nearest, many_sizes(400, from, to), 1000), 30);
    }
  }
}

TEST(Storage, UsesTheWordsOfPhiloxInTheirOrder) {
  // Half a step above 1: up if and only if the highest bit of the word is set.
  std::vector<float> values(200, 1.0f + 0x1p-8f);
  const std::uint64_t seed = 42;
  for (const auto part : {RowPart::weights, RowPart::moments}) {
    const auto rounded = round(Storage::bf16, Rounding::stochastic, values,
                               philox_key(seed, RandomStream::rounding), part);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t block = i / 64 * 8 + i % 16 / 2;
      const std::size_t sixteen = i / 16 % 4;
      const auto words = philox(seed, RandomStream::rounding, 2,
                                (std::uint64_t{static_cast<std::uint32_t>(part)} << 32) | block);
      const std::uint32_t word = std::rotr(words[sixteen % 2 * 2 + i % 2], sixteen < 2 ? 0 : 16);
      ASSERT_EQ(rounded[i] > 1.0f, word >> 31 == 1) << i;
    }
  }
}

TEST(Storage, LargeValuesSaturate) {
  const std::array<float, 4> values = {1e30f, -1e30f, 65519.99f, 70000.0f};
  for (const auto rounding : kRoundings) {
    const auto half = round(Storage::fp16, rounding, values);
    EXPECT_EQ(half, (std::vector<float>{65504, -65504, 65504, 65504}));
    const std::array<float, 2> largest = {std::numeric_limits<float>::max(),
                                          std::numeric_limits<float>::lowest()};
    const float max_bf16 = 0x1.FEp127f;
    EXPECT_EQ(round(Storage::bf16, rounding, largest), (std::vector<float>{max_bf16, -max_bf16}));
    for (const float x : round(Storage::int8, rounding, largest)) {
      EXPECT_GT(std::abs(x), 3.4e38f);
      EXPECT_TRUE(std::isfinite(x));
    }
  }
}

TEST(Storage, NaNAndInfinityDoNotBecomeNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // A NaN whose bits lie in the lower half only.
  const auto low_nan = std::bit_cast<float>(0x7F800001U);
  for (const auto rounding : kRoundings) {
    for (const auto type : {Storage::fp16, Storage::bf16}) {
      const std::array<float, 6> values = {nan, kInf, -kInf, low_nan, -nan, 1};
      const auto out = round(type, rounding, values);
      EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[3]) && std::isnan(out[4]));
      EXPECT_EQ(out[1], kInf);
      EXPECT_EQ(out[2], -kInf);
      EXPECT_EQ(out[5], 1);
    }
    for (const float bad : {nan, kInf, -kInf, low_nan}) {
      const std::array<float, 3> values = {1, bad, 2};
      for (const float x : round(Storage::int8, rounding, values)) EXPECT_TRUE(std::isnan(x));
    }
  }
}

TEST(Storage, ZerosStayZeros) {
  for (const auto type : kTypes) {
    for (const auto rounding : kRoundings) {
      const std::vector<float> zeros(13);
      EXPECT_EQ(round(type, rounding, zeros), zeros);
    }
  }
  // Too small for a scale of full precision.
  const std::array<float, 2> tiny = {1e-40f, -1e-37f};
  EXPECT_EQ(round(Storage::int8, Rounding::stochastic, tiny), (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace satrap::store
