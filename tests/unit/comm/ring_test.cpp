#include "comm/ring/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"

namespace satrap::comm {
namespace {

/// A writer and a reader whose window is plain memory, with publish and credit by hand.
class RingTest : public testing::Test {
 protected:
  static constexpr std::int64_t kSize = 4096;

  /// As Fabric::publish.
  void publish() {
    for (const auto& piece : writer_.news()) {
      if (piece.bytes.empty()) continue;
      put_ += piece.bytes.size();
      std::memcpy(ring_.data() + piece.offset, piece.bytes.data(), piece.bytes.size());
    }
    tail_ = writer_.publish();
  }
  /// As Fabric::progress.
  void return_credit() {
    if (reader_.owes_credit()) credit_ = reader_.give_credit();
  }

  bool send(std::int64_t bytes, int value) {
    const auto space = writer_.reserve(bytes);
    if (!space) return false;
    EXPECT_EQ(std::ssize(*space), bytes);
    std::ranges::fill(*space, static_cast<std::byte>(value));
    writer_.commit();
    return true;
  }
  void expect_message(std::int64_t bytes, int value) {
    const auto message = reader_.peek();
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(std::ssize(*message), bytes);
    for (const auto byte : *message) ASSERT_EQ(byte, static_cast<std::byte>(value));
    reader_.pop();
  }
  void set_length(std::int64_t offset, std::uint64_t length) {
    std::memcpy(ring_.data() + offset, &length, sizeof length);
  }
  /// The message of the error of peek(), empty if there is none.
  std::string error_of_peek() {
    try {
      reader_.peek();
      return "";
    } catch (const InternalError& error) {
      return error.what();
    }
  }

  const Link link_{WorldRank{3}, WorldRank{5}, kSize};
  std::vector<std::byte> ring_ = std::vector<std::byte>(kSize);
  std::uint64_t tail_ = 0;
  std::uint64_t credit_ = 0;
  std::size_t put_ = 0;
  RingWriter writer_{link_, nullptr, &credit_};
  RingReader reader_{link_, ring_.data(), &tail_};
};

TEST_F(RingTest, MessagesAreSeenAfterPublishInOrder) {
  EXPECT_TRUE(send(10, 1));
  EXPECT_TRUE(send(0, 2));
  EXPECT_TRUE(send(200, 3));
  EXPECT_FALSE(reader_.peek());
  publish();
  expect_message(10, 1);
  expect_message(0, 2);
  expect_message(200, 3);
  EXPECT_FALSE(reader_.peek());
  EXPECT_EQ(writer_.messages(), 3);
  EXPECT_EQ(writer_.bytes(), 64 + 64 + 256);
}

TEST_F(RingTest, PeekAgainGivesTheSameMessage) {
  send(10, 1);
  publish();
  EXPECT_EQ(reader_.peek()->data(), reader_.peek()->data());
  expect_message(10, 1);
}

TEST_F(RingTest, AnotherReserveReplacesTheFirst) {
  ASSERT_TRUE(writer_.reserve(1000));
  EXPECT_TRUE(send(10, 1));
  publish();
  expect_message(10, 1);
  EXPECT_FALSE(reader_.peek());
}

TEST_F(RingTest, FullRingRefusesUntilCreditReturnsAndCountsOneWait) {
  const std::int64_t longest = writer_.max_message();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(send(longest, i));
  EXPECT_EQ(writer_.waits(), 0);
  EXPECT_FALSE(send(1, 9));
  EXPECT_FALSE(send(1, 9));
  EXPECT_EQ(writer_.waits(), 1);
  publish();
  expect_message(longest, 0);
  EXPECT_FALSE(send(1, 9));
  return_credit();
  EXPECT_TRUE(send(longest, 4));
  for (int i = 1; i < 4; ++i) expect_message(longest, i);
  publish();
  expect_message(longest, 4);
}

TEST_F(RingTest, CreditIsReturnedPerQuarter) {
  for (int i = 0; i < 16; ++i) send(0, 0);
  publish();
  for (int i = 0; i < 15; ++i) {
    expect_message(0, 0);
    EXPECT_FALSE(reader_.owes_credit());
  }
  expect_message(0, 0);
  EXPECT_TRUE(reader_.owes_credit());
  return_credit();
  EXPECT_EQ(credit_, 1024U);
  EXPECT_FALSE(reader_.owes_credit());
}

TEST_F(RingTest, OfAFillerOnlyItsLengthTravels) {
  for (int i = 0; i < 3; ++i) send(1000, i);  // 3 * 1024, 1024 left
  send(500, 3);                               // 512, 512 left
  publish();
  for (int i = 0; i < 3; ++i) expect_message(1000, i);
  expect_message(500, 3);
  return_credit();
  put_ = 0;
  EXPECT_TRUE(send(1000, 4));  // does not fit before the end
  publish();
  EXPECT_EQ(put_, 64U + 1024U);
  expect_message(1000, 4);
  EXPECT_EQ(writer_.bytes(), 4096 + 1024);
}

TEST_F(RingTest, RandomSizesNeverBlockForever) {
  RandomSequence random(1, RandomStream::teacher);
  std::deque<std::int64_t> under_way;
  int sent = 0;
  int received = 0;
  while (received < 20'000) {
    // Writer and reader take turns of random length; when both are stuck, the loop would not end.
    for (auto turns = random.below(6); turns > 0; --turns) {
      const auto bytes = static_cast<std::int64_t>(
          random.below(static_cast<std::uint64_t>(writer_.max_message()) + 1));
      if (!send(bytes, sent)) break;
      ++sent;
      under_way.push_back(bytes);
    }
    publish();
    for (auto turns = random.below(6); turns > 0 && !under_way.empty(); --turns) {
      expect_message(under_way.front(), received);
      if (HasFatalFailure()) return;
      under_way.pop_front();
      ++received;
    }
    return_credit();
    ASSERT_TRUE(!under_way.empty() || send(writer_.max_message(), sent)) << "an empty ring is full";
    if (under_way.empty()) {
      under_way.push_back(writer_.max_message());
      ++sent;
    }
  }
  EXPECT_GT(writer_.waits(), 0);
}

TEST_F(RingTest, TooLongMessageNamesRanksAndRemedy) {
  try {
    writer_.reserve(writer_.max_message() + 1);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(),
                 "a message of 1017 bytes from rank 3 to rank 5 is too long for its ring (the "
                 "limit is 1016 bytes, a quarter of the ring); raise transport.ring_bytes");
  }
}

TEST_F(RingTest, WriterRefusesCreditBeyondItsTail) {
  credit_ = 64;
  EXPECT_THROW(writer_.reserve(1), InternalError);
}

TEST_F(RingTest, ReaderRefusesTailsThatCannotBe) {
  tail_ = 63;
  EXPECT_EQ(error_of_peek(),
            "ring from rank 3 to rank 5: the writer's tail is 63 (not a multiple of 64); memory of "
            "the ring was overwritten or MPI delivered it damaged");
  tail_ = kSize + 64;
  EXPECT_NE(error_of_peek(), "");
  tail_ = 0;
  send(1, 1);
  publish();
  expect_message(1, 1);
  tail_ = 0;
  EXPECT_NE(error_of_peek().find("tail is 0 (it was 64)"), std::string::npos) << error_of_peek();
}

TEST_F(RingTest, ReaderRefusesLengthsThatCannotBe) {
  tail_ = 128;
  for (const std::uint64_t length : {1017UL, 121UL, 1UL << 63, kFiller, kFiller - 1}) {
    set_length(0, length);
    EXPECT_NE(error_of_peek().find("rank 3 to rank 5: a message's length is"), std::string::npos)
        << length << ": " << error_of_peek();
  }
  set_length(0, 120);
  EXPECT_EQ(error_of_peek(), "");
}

TEST_F(RingTest, ReaderRefusesMessagesThatWrapAndFillersThatEndTheRing) {
  for (int i = 0; i < 3; ++i) send(1000, i);
  send(900, 3);
  publish();
  for (int i = 0; i < 3; ++i) expect_message(1000, i);
  expect_message(900, 3);  // 64 bytes are left
  tail_ = kSize + 128;
  set_length(kSize - 64, 100);
  EXPECT_NE(error_of_peek().find("wrap"), std::string::npos);
  tail_ = kSize;
  set_length(kSize - 64, kFiller);
  EXPECT_NE(error_of_peek(), "");
}

}  // namespace
}  // namespace satrap::comm
