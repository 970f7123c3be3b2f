#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "device/memory.hpp"
#include "device/stream.hpp"
#include "device/threads.hpp"

namespace satrap::device {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Buffer, IsAlignedAndZero) {
  for (const std::int64_t size : {1, 3, 16, 1000, 100003}) {
    const Buffer<float> buffer(size);

    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0U);
    EXPECT_THAT(buffer.span(), Each(0.0f));
  }
}

TEST(Buffer, OfNothingHoldsNothing) {
  const std::int64_t before = allocated_bytes(Backend::cpu);
  const Buffer<double> buffer(0);

  EXPECT_TRUE(buffer.span().empty());
  EXPECT_EQ(allocated_bytes(Backend::cpu), before);
}

TEST(Buffer, CountsItsBytesUntilItDies) {
  const std::int64_t before = allocated_bytes(Backend::cpu);
  {
    const Buffer<double> first(10);
    const Buffer<float> second(7);
    EXPECT_EQ(allocated_bytes(Backend::cpu), before + 80 + 28);
  }
  EXPECT_EQ(allocated_bytes(Backend::cpu), before);
}

TEST(Buffer, MovesItsBlock) {
  const std::int64_t before = allocated_bytes(Backend::cpu);
  Buffer<int> first(4);
  first.data()[2] = 7;
  const int* block = first.data();

  Buffer<int> second(std::move(first));
  EXPECT_EQ(second.data(), block);

  Buffer<int> third(100);
  third = std::move(second);
  EXPECT_THAT(third.span(), ElementsAre(0, 0, 7, 0));
  EXPECT_EQ(allocated_bytes(Backend::cpu), before + 16);

  Buffer<int>& same = third;
  third = std::move(same);
  EXPECT_EQ(third.data(), block);
}

TEST(Buffer, GrowsOnlyWhenItMust) {
  Buffer<int> buffer(8);
  const int* block = buffer.data();

  buffer.grow(5);
  EXPECT_EQ(buffer.data(), block);
  EXPECT_EQ(buffer.size(), 8);

  buffer.grow(9);
  EXPECT_EQ(buffer.size(), 9);
  EXPECT_THAT(buffer.span(), Each(0));
}

TEST(Buffer, RefusesImpossibleSizes) {
  EXPECT_THROW(Buffer<float>(-1), InternalError);
  EXPECT_THROW(Buffer<char>(std::int64_t{1} << 60), InternalError);
}

TEST(Cuda, SaysThatItIsNotBuilt) {
  const auto refusal = [](auto call) -> std::string {
    try {
      call();
    } catch (const InternalError& error) {
      return error.what();
    }
    return "accepted";
  };

  EXPECT_THAT(refusal([] { Buffer<float>(4, Backend::cuda); }), HasSubstr("built without CUDA"));
  EXPECT_THAT(refusal([] { Stream(Backend::cuda); }), HasSubstr("built without CUDA"));
  EXPECT_EQ(allocated_bytes(Backend::cuda), 0);
}

TEST(Stream, RunsEveryCallOnce) {
  Stream stream;
  std::vector<int> calls(1001);
  launch(stream, 1001, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
  stream.synchronize();

  EXPECT_THAT(calls, Each(1));
}

TEST(Stream, RunsRowsInOrder) {
  const Stream stream;
  std::vector<std::int64_t> last(3, -1);
  launch_rows(stream, 5, 3, [&](std::int64_t row, std::int64_t column) {
    auto& seen = last[static_cast<std::size_t>(column)];
    seen = seen == row - 1 ? row : -100;
  });

  EXPECT_THAT(last, Each(4));
}

TEST(Threads, AreOneUnlessToldOtherwise) {
  EXPECT_EQ(compute_threads(), 1);

  set_compute_threads(3);
  EXPECT_EQ(compute_threads(), 3);

  set_compute_threads(0);
  EXPECT_EQ(compute_threads(), 1);
}

}  // namespace
}  // namespace satrap::device
