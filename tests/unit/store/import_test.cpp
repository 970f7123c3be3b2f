// The entry point of the fuzzer on random bytes, so that every run of the tests goes through it.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace satrap::store {
namespace {

TEST(Import, RandomBytesLeaveATableThatIsWhole) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RandomSequence random(seed, RandomStream::teacher);
    std::vector<std::uint8_t> bytes(random.below(3000));
    // From all kinds of bytes to hardly any but zeros.
    const std::uint64_t zeros = random.below(4);
    for (std::uint8_t& byte : bytes) {
      byte = random.below(4) < zeros ? 0 : static_cast<std::uint8_t>(random());
    }
    ASSERT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0);
  }
}

}  // namespace
}  // namespace satrap::store
