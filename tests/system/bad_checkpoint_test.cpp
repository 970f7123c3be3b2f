// Checkpoints that cannot be gone on from: each ends the job as docs/errors.md says, and stays as
// it is.

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "bad_input.hpp"

namespace satrap::test {
namespace {

namespace fs = std::filesystem;

using Prepare = std::function<void(const Scratch&)>;

constexpr const char* kCheckpoint = "run/checkpoints/step-6";

fs::path in_checkpoint(const Scratch& scratch, const std::string& name) {
  return scratch / kCheckpoint / name;
}

Prepare flip(const std::string& name, double share) {
  return [=](const Scratch& s) { flip_byte(in_checkpoint(s, name), share); };
}

Prepare truncate(const std::string& name, double share) {
  return [=](const Scratch& s) { truncate_file(in_checkpoint(s, name), share); };
}

Prepare remove(const std::string& name) {
  return [=](const Scratch& s) { fs::remove(in_checkpoint(s, name)); };
}

Prepare write(const std::string& path, const std::string& text) {
  return [=](const Scratch& s) { write_text(s / path, text); };
}

/// Replaces a text in a file of the checkpoint.
Prepare edit(const std::string& name, const std::string& from, const std::string& to) {
  return [=](const Scratch& s) {
    std::string text = read_text(in_checkpoint(s, name));
    const auto at = text.find(from);
    ASSERT_NE(at, text.npos);
    write_text(in_checkpoint(s, name), text.replace(at, from.size(), to));
  };
}

std::vector<BadInput> damaged() {
  return {
      {"ManifestGarbage",
       4,
       {"manifest.json is damaged", "job.resume"},
       {},
       write("run/checkpoints/manifest.json", "garbage")},
      {"ManifestEmpty",
       4,
       {"manifest.json is damaged"},
       {},
       write("run/checkpoints/manifest.json", "")},
      {"ManifestOfAnotherProgram",
       4,
       {"manifest.json is damaged", "format"},
       {},
       write("run/checkpoints/manifest.json", "{\"steps\": [6]}")},
      {"Contents",
       4,
       {"contents.json", "damaged"},
       {},
       write(std::string(kCheckpoint) + "/contents.json", "{}")},
      {"ContentsEdited",
       4,
       {"contents.json", "checksum"},
       {},
       edit("contents.json", "\"virtual_shards\": 4096", "\"virtual_shards\": 4095")},
      {"ContentsMissing", 4, {"contents.json"}, {}, remove("contents.json")},
      {"LaterVersion",
       4,
       {"contents.json", "version"},
       {},
       edit("contents.json", "\"version\": 2", "\"version\": 9")},
      {"ServerFileMissing", 4, {"server-1.h5"}, {}, remove("server-1.h5")},
      {"ServerFileShort", 4, {"server-0.h5", "bytes instead of"}, {}, truncate("server-0.h5", 0.5)},
      {"ServerFileHeader",
       4,
       {"server 0 (rank 0)", "server-0.h5", "checksum"},
       {},
       flip("server-0.h5", 0.001)},
      // Read by both servers of the new job.
      {"ServerFileForAllServers",
       4,
       {"server-0.h5", "checksum"},
       {"--roles.servers=4"},
       flip("server-0.h5", 0.001),
       5},
      {"ServerRows", 4, {"server-1.h5", "checksum"}, {}, flip("server-1.h5", 0.6)},
      {"ServerFilesSwapped",
       4,
       {"server-0.h5"},
       {},
       [](const Scratch& s) {
         fs::rename(in_checkpoint(s, "server-0.h5"), in_checkpoint(s, "x"));
         fs::rename(in_checkpoint(s, "server-1.h5"), in_checkpoint(s, "server-0.h5"));
         fs::rename(in_checkpoint(s, "x"), in_checkpoint(s, "server-1.h5"));
       }},
      {"DenseMissing", 4, {"dense.h5"}, {}, remove("dense.h5")},
      {"DenseDamaged", 4, {"dense.h5", "checksum"}, {}, flip("dense.h5", 0.5)},
      {"TopFileDamaged", 4, {"checkpoint.h5", "checksum"}, {}, flip("checkpoint.h5", 0.5)},
      {"NotHdf5",
       4,
       {"dense.h5"},
       {},
       [](const Scratch& s) {
         const auto size = fs::file_size(in_checkpoint(s, "dense.h5"));
         write_text(in_checkpoint(s, "dense.h5"), std::string(size, 'x'));
       }},
  };
}

std::vector<BadInput> of_another_model() {
  return {
      {"Width", 4, {"dense.h5", "does not fit the config", "model/top"}, {"--model.top=64"}, {}, 5},
      {"Model",
       4,
       {"dense.h5", "does not fit the config"},
       {"--model.kind=ffnn", "--model.bottom=default"},
       [](const Scratch& s) { replace_line(s / "small.ini", 9, ""); },
       4},
      {"Dim", 4, {"does not fit the config", "dim"}, {"--table.*.dim=4"}, {}, 4},
      {"TableOptimizer",
       4,
       {"does not fit the config", "optimizer"},
       {"--table.C3.optimizer=sgd"},
       {},
       5},
      {"DenseOptimizer",
       4,
       {"dense.h5", "does not fit the config"},
       {"--dense_optimizer.kind=adagrad"},
       {},
       5},
      {"HashStack",
       4,
       {"does not fit the config", "hash_rows 0 in the checkpoint and 2 in the config"},
       {"--table.C7.hash_rows=2", "--table.C7.hash_buckets=1000"}},
      {"Storage",
       4,
       {"does not fit the config", "the storage fp32 in the checkpoint and int8 in the config"},
       {"--table.C7.storage=int8"}},
      {"SharedTable", 4, {"does not fit the config", "C2"}, {"--slot.C2.table=C1"}},
      {"Seed", 2, {"job.seed 1, not 7", "job.run_dir"}, {"--job.seed=7"}},
      {"VirtualShards",
       4,
       {"virtual_shards was 4096 and is 64"},
       {"--checkpoint.virtual_shards=64"},
       {},
       5},
  };
}

std::vector<BadInput> choices() {
  return {
      {"ResumeFromNowhere",
       4,
       {"job.resume", "no checkpoint", "step-5"},
       {"--job.resume=@/run/checkpoints/step-5"}},
      {"ResumeFromAnEmptyDirectory",
       4,
       {"contents.json"},
       {"--job.resume=@/empty"},
       [](const Scratch& s) { fs::create_directory(s / "empty"); }},
      {"ResumeFromAFile", 4, {"job.resume"}, {"--job.resume=@/small.ini"}},
      {"NeverWithCheckpoints", 2, {"job.resume", "earlier run"}, {"--job.resume=never"}},
      {"EvalWithoutCheckpoint",
       4,
       {"no checkpoint in", "train first"},
       {"--job.run_dir=@/other"},
       {},
       3,
       "eval"},
      {"EvalOfNone",
       2,
       {"job.resume", "eval needs a checkpoint"},
       {"--job.resume=never"},
       {},
       3,
       "eval"},
      {"EvalWithoutData", 2, {"data.valid", "eval"}, {"--data.valid="}, {}, 3, "eval"},
      {"EvalOfDamage", 4, {"server-1.h5", "checksum"}, {}, flip("server-1.h5", 0.6), 4, "eval"},
  };
}

/// A finished run of 2 servers, of which every case gets a copy.
class BadCheckpoint : public testing::TestWithParam<BadInput> {
 protected:
  static fs::path trained() { return fs::temp_directory_path() / "satrap-bad-checkpoint-trained"; }

  static void SetUpTestSuite() {
    fs::remove_all(trained());
    fs::create_directory(trained());
  }
  static void TearDownTestSuite() { fs::remove_all(trained()); }
};

TEST_P(BadCheckpoint, IsRefused) {
  const Scratch scratch;
  if (!fs::exists(trained() / "run")) {
    make_data(scratch, 1'500, 300);
    const auto ended = run(mpirun(3, {"train", small_config(scratch), "--roles.servers=2"}));
    ASSERT_EQ(ended.code, 0) << ended.output;
    fs::rename(scratch / "run", trained() / "run");
  }
  fs::copy(trained() / "run", scratch / "run", fs::copy_options::recursive);
  expect_refusal(GetParam(), scratch);
  EXPECT_TRUE(fs::exists(scratch / kCheckpoint));
}

const auto kName = [](const auto& info) { return name_of(info.param); };

INSTANTIATE_TEST_SUITE_P(Damaged, BadCheckpoint, testing::ValuesIn(damaged()), kName);
INSTANTIATE_TEST_SUITE_P(OfAnother, BadCheckpoint, testing::ValuesIn(of_another_model()), kName);
INSTANTIATE_TEST_SUITE_P(Choice, BadCheckpoint, testing::ValuesIn(choices()), kName);

}  // namespace
}  // namespace satrap::test
