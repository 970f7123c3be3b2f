#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>

#include "core/log.hpp"
#include "h5/file.hpp"
#include "model.hpp"

namespace satrap::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// A job of two servers, with a table that counts appearances and one that does not.
class Admission : public testing::Test {
 protected:
  Admission() {
    configs_[0].admit_after = 2;
    configs_[0].admission_window = 1000;
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_)));
  }
  ~Admission() override { spdlog::set_default_logger(before_); }

  /// Looks the ids up once, as a step of training, at their servers; returns how many got a row.
  std::int64_t look_up(std::vector<Tables>& job, std::uint64_t first, std::uint64_t end,
                       Step step) const {
    const RowPlacement placement(kVirtualShards, static_cast<std::int32_t>(job.size()));
    std::int64_t inserted = 0;
    for (std::size_t s = 0; s < job.size(); ++s) {
      std::vector<FeatureId> ids;
      for (std::uint64_t id = first; id < end; ++id) {
        if (static_cast<std::size_t>(raw(placement.server_of(TableId{0}, FeatureId{id}))) == s) {
          ids.push_back(FeatureId{id});
        }
      }
      std::vector<float> rows(ids.size() * static_cast<std::size_t>(configs_[0].dim));
      const auto before = job[s][0].statistics().inserted;
      job[s][0].lookup(ids, step, rows.data());
      inserted += job[s][0].statistics().inserted - before;
    }
    return inserted;
  }

  const Folder folder_;
  std::vector<config::TableConfig> configs_ = {
      table_config("counts", config::Optimizer::rowwise_adagrad, 2),
      table_config("plain", config::Optimizer::rowwise_adagrad, 2)};
  std::ostringstream log_;
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

TEST_F(Admission, TheSameServersGoOnCounting) {
  auto job = make_job(configs_, 2, 10);
  look_up(job, 1000, 1200, 1);
  const auto path = save(folder_.path(), 1, job);
  auto loaded = load_job(path, configs_, 2);
  EXPECT_THAT(log_.str(), IsEmpty());
  for (std::size_t s = 0; s < 2; ++s) {
    std::vector<std::uint16_t> saved;
    std::vector<std::uint16_t> restored;
    job[s][0].save_admission(saved);
    loaded[s][0].save_admission(restored);
    EXPECT_EQ(restored, saved);
  }
  // Their second appearance.
  EXPECT_EQ(look_up(loaded, 1000, 1200, 2), look_up(job, 1000, 1200, 2));
  EXPECT_TRUE(same_rows(loaded, job));
  EXPECT_EQ(h5::File::open(path / "server-0.h5").dataset("tables/counts/admission").shape().size(),
            1U);
  EXPECT_FALSE(h5::File::open(path / "server-0.h5").has("tables/plain/admission"));
}

TEST_F(Admission, OtherServersOrAnotherWindowCountAnew) {
  auto job = make_job(configs_, 2, 10);
  look_up(job, 1000, 1200, 1);
  const auto path = save(folder_.path(), 1, job);
  const auto said =
      AllOf(HasSubstr("counted anew"), HasSubstr("table counts"), testing::Not(HasSubstr("plain")));
  for (const std::int32_t servers : {1, 3}) {
    log_.str({});
    auto loaded = load_job(path, configs_, servers);
    EXPECT_THAT(log_.str(), said) << servers << " servers";
    EXPECT_EQ(std::ranges::count(log_.str(), '\n'), 1);
    // The first appearance again; a few are taken for another id's.
    EXPECT_LT(look_up(loaded, 1000, 1200, 2), 10);
    EXPECT_GT(look_up(loaded, 1000, 1200, 3), 190);
  }
  log_.str({});
  configs_[0].admission_window = 2000;
  auto loaded = load_job(path, configs_, 2);
  EXPECT_THAT(log_.str(), said);
  EXPECT_LT(look_up(loaded, 1000, 1200, 2), 10);
}

TEST_F(Admission, SwitchedOffOrOnNeedsNothingOfTheCheckpoint) {
  const auto path = save(folder_.path(), 1, make_job(configs_, 2, 10));
  configs_[0].admit_after = 1;
  configs_[0].admission_window = 0;
  configs_[1].admit_after = 2;
  load_job(path, configs_, 2);
  EXPECT_THAT(log_.str(), IsEmpty());
}

TEST_F(Admission, CountsAreGuarded) {
  auto job = make_job(configs_, 2, 10);
  look_up(job, 1000, 1200, 1);
  const auto path = save(folder_.path(), 1, job);
  const auto [offset, bytes] =
      h5::File::open(path / "server-1.h5").dataset("tables/counts/admission").extent();
  ASSERT_GE(bytes, 2000);
  for (std::int64_t at = offset; at < offset + bytes; at += 191) {
    std::fstream file(path / "server-1.h5", std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 4));
    file.close();
    ASSERT_THAT(message_of([&] { verify(path); }),
                AllOf(HasSubstr("server-1.h5"), HasSubstr("checksum")));
    ASSERT_THAT(message_of([&] { load_job(path, configs_, 2); }), HasSubstr("checksum"));
    file.open(path / "server-1.h5", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put(static_cast<char>(byte));
  }
  verify(path);
}

}  // namespace
}  // namespace satrap::checkpoint
