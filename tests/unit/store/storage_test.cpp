#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "unit/store/one_row.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;
using config::Rounding;
using config::Storage;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr Storage kTypes[] = {Storage::fp16, Storage::bf16, Storage::int8};
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

/// From a number of fp16 or bf16 to the next larger one, at `x`.
double step_at(Storage type, double x) {
  const bool half = type == Storage::fp16;
  const int exponent = x == 0 ? -1000 : std::ilogb(x);
  return std::ldexp(1.0, std::max(exponent, half ? -14 : -126) - (half ? 10 : 7));
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

config::TableConfig row_config(Storage storage, Optimizer optimizer = Optimizer::sgd) {
  config::TableConfig config;
  config.name = "items";
  config.dim = 200;
  config.optimizer = optimizer;
  config.lr = 1;
  config.init_range = 0.05;
  config.storage = storage;
  return config;
}

TEST(StoredRow, StartsFromTheFirstValuesRounded) {
  for (const auto type : kTypes) {
    std::vector<float> exact(200);
    initial_row(5, TableId{1}, FeatureId{77}, 0.05f, exact);
    const auto weights = OneRow(row_config(type)).weights();
    for (std::size_t i = 0; i < 200; ++i) {
      const double step = type == Storage::int8 ? 0.05 / 127 : step_at(type, exact[i]);
      EXPECT_NEAR(weights[i], exact[i], step);
    }
    EXPECT_NE(weights, exact);
  }
}

TEST(StoredRow, NothingOfWhatWasThereBeforeIsLeft) {
  for (const auto type : {Storage::fp32, Storage::fp16, Storage::bf16, Storage::int8}) {
    for (auto config : optimizer_configs(3)) {
      config.storage = type;
      if (config.optimizer == Optimizer::adam) config.moments = Storage::bf16;
      const RowOps ops(TableId{1}, config, 5);
      std::vector<std::byte> zeros(ops.layout().bytes, std::byte{0});
      std::vector<std::byte> ones(ops.layout().bytes, std::byte{0xFF});
      ops.initialize(FeatureId{1}, zeros.data());
      ops.initialize(FeatureId{1}, ones.data());
      EXPECT_TRUE(std::equal(zeros.begin() + 8, zeros.end(), ones.begin() + 8))
          << name_of(type) << ' ' << name_of(config.optimizer);
    }
  }
}

TEST(StoredRow, RoundingFollowsFromSeedTableIdAndStep) {
  const std::vector<float> gradient(200, 1e-5f);
  for (const auto type : kTypes) {
    auto config = row_config(type);
    config.init_range = 0;  // So that only rounding can make a difference.
    if (type == Storage::int8) config.lr = 1;
    const auto after = [&](std::uint64_t seed, std::uint32_t table, std::uint64_t id, Step step) {
      OneRow row(config, FeatureId{id}, seed, TableId{table});
      row.update(random_floats(1, 200).data(), step);
      row.update(gradient.data(), step);
      return row.bytes();
    };
    const auto first = after(1, 1, 1, 1);
    EXPECT_EQ(after(1, 1, 1, 1), first);
    EXPECT_NE(after(2, 1, 1, 1), first);
    EXPECT_NE(after(1, 2, 1, 1), first);
    EXPECT_NE(after(1, 1, 2, 1), first);
    EXPECT_NE(after(1, 1, std::uint64_t{1} << 32 | 1, 1), first);
    EXPECT_NE(after(1, 1, 1, 2), first);
    EXPECT_NE(after(1, 1, 1, (Step{1} << 32) + 1), first);
  }
}

/// How far rows go that 2000 gradients push by 1/64 of a step of their type each; mean over `dim`.
double distance(Storage type, Rounding rounding) {
  auto config = row_config(type);
  config.rounding = rounding;
  config.init_range = 1;
  OneRow row(config);
  const auto before = row.weights();
  const double step = type == Storage::int8 ? 1.0 / 127 : step_at(type, 0.75);
  const std::vector<float> gradient(200, static_cast<float>(-step / 64));
  for (Step s = 1; s <= 2000; ++s) row.update(gradient.data(), s);
  double sum = 0;
  for (std::size_t i = 0; i < 200; ++i) sum += row.weights()[i] - before[i];
  return sum / 200 / (2000 * step / 64);
}

// Small updates add up, which is what the rounding is for; to the nearest most of them are lost.
TEST(StoredRow, SmallUpdatesAddUp) {
  for (const auto type : kTypes) {
    EXPECT_NEAR(distance(type, Rounding::stochastic), 1, 0.05) << name_of(type);
    EXPECT_LT(distance(type, Rounding::nearest), 0.8) << name_of(type);
  }
}

TEST(StoredRow, GoesWithItsFp32TwinForEveryOptimizer) {
  for (const auto type : kTypes) {
    for (auto config : optimizer_configs(65)) {
      config.lr = 0.01;
      OneRow twin(config);
      config.storage = type;
      OneRow row(config);
      twin.train(1, 20);
      row.train(1, 20);
      const double tolerance = type == Storage::fp16 ? 1e-3 : 2e-2;
      for (std::size_t i = 0; i < 65; ++i) {
        ASSERT_NEAR(row.weights()[i], twin.weights()[i], tolerance)
            << name_of(type) << ' ' << name_of(config.optimizer);
      }
    }
  }
}

TEST(StoredRow, MomentsInBf16KeepTheirMean) {
  auto config = row_config(Storage::fp32, Optimizer::adam);
  config.lr = 0.01;
  OneRow exact(config);
  config.moments = Storage::bf16;
  OneRow row(config);
  // At a decay of 0.999 updates of v are below half a step of bf16: to the nearest it would stand
  // still.
  exact.train(1, 3000);
  row.train(1, 3000);
  const auto bytes = row.bytes();
  const auto state = exact.state();
  const std::size_t begin = bytes.size() - 2 * 400;
  double ratio = 0;
  for (std::size_t i = 200; i < 400; ++i) {
    std::uint16_t upper = 0;
    std::memcpy(&upper, &bytes[begin + 2 * i], 2);
    ratio += std::bit_cast<float>(std::uint32_t{upper} << 16) / state[i] / 200;
  }
  EXPECT_NEAR(ratio, 1, 0.01);
}

}  // namespace
}  // namespace satrap::store
