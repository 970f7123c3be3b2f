// Every config here is refused, with a message that says where, what and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "unit/config/support.hpp"

namespace satrap::config {
namespace {

using testing::HasSubstr;

struct Case {
  std::string_view base;
  std::string more;                  ///< Appended to base.
  std::vector<std::string> message;  ///< Parts of the message.
};

/// kCriteo has 2 lines and kCsv 7, so `more` starts in line 3 or 8.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      // Keys that do not exist.
      {kCriteo, "[model]\nbotom = 3\n", {"x.ini:4: unknown key model.botom", "mean model.bottom?"}},
      {kCriteo, "[modle]\ntop = 3\n", {"x.ini:4: unknown key modle.top", "mean model.top?"}},
      {kCriteo, "[train]\nlr = 3\n", {"unknown key train.lr", "keys of train are mode,"}},
      {kCriteo, "[nothing]\nat_all = 3\n", {"the sections are job, roles,", "table.NAME"}},
      {kCriteo,
       "[table.C1]\npopularity = 3\n",
       {"unknown key table.C1.popularity", "the keys of table are"}},
      {kCriteo, "[table.C1]\ndims = 3\n", {"did you mean table.C1.dim?"}},
      {kCriteo, "[table]\ndim = 3\n", {"unknown key table.dim", "did you mean table.*.dim?"}},
      {"seed = 3\n", "", {"x.ini:1: unknown key seed", "the sections are"}},
      {kCriteo, "[job.x]\nseed = 3\n", {"unknown key job.x.seed", "did you mean job.seed?"}},

      // Values.
      {kCriteo,
       "[train]\nepochs = 0\n",
       {"x.ini:4: train.epochs = 0", "expected: whole number, 1 to"}},
      {kCriteo, "[train]\nsteps = 1_000\n", {"= 1_000 is not a whole number", "at least 0"}},
      {kCriteo, "[train]\nglobal_batch =\n", {"train.global_batch = \"\" is not a whole number"}},
      {kCriteo, "[train]\nglobal_batch = -1\n", {"train.global_batch = -1 is not allowed"}},
      {kCriteo, "[train]\nmode = async\n", {"train.mode = async", "expected: sync or hybrid"}},
      {kCriteo, "[train]\nstaleness = 0\n", {"train.staleness = 0 is not allowed"}},
      {kCriteo, "[train]\ndrop_last = maybe\n", {"maybe is neither true nor false"}},
      {kCriteo, "[model]\ntop = 512, abc\n", {"512, abc is not a whole number", "list of whole"}},
      {kCriteo, "[model]\ntop = 512, 0\n", {"model.top = 512, 0 is not allowed"}},
      {kCriteo, "[table.C1]\nlr = nan\n", {"table.C1.lr = nan is not a finite number"}},
      {kCriteo, "[table.C1]\nlr = -0.1\n", {"table.C1.lr = -0.1 is not allowed", "at least 0"}},
      {kCriteo, "[table.C1]\nlr = 1e39\n", {"table.C1.lr = 1e39 is beyond what single precision"}},
      // 0 would mean: no bound.
      {kCriteo, "[table.C1]\nweight_bound = 1e-50\n", {"= 1e-50 is beyond", "at least 0"}},
      {kCriteo, "[table.C1]\nclip_norm = 1e-50\n", {"= 1e-50 is beyond", "at least 0"}},
      {kCriteo, "[table.C1]\neps = 0\n", {"table.C1.eps = 0 is not allowed", "above 0"}},
      {kCriteo,
       "[table.C1]\noptimizer = rmsprop\n",
       {"optimizer = rmsprop", "expected: sgd, adagrad, rowwise_adagrad, adam,"}},
      {kCriteo, "[table.C1]\nadmit_share = 0\n", {"C1.admit_share = 0 is not", "above 0, at most"}},
      {kCriteo, "[table.C1]\nadmit_share = 1.01\n", {"C1.admit_share = 1.01 is not allowed"}},
      {kCriteo, "[table.C1]\nhash_rows = 17\n", {"hash_rows = 17 is not allowed", "0 to 16"}},
      {kCriteo,
       "[table.C1]\nhash_rows = 1\nhash_buckets = 0\n",
       {"hash_buckets = 0 is not allowed", "at least 1"}},
      {kCriteo, "[job]\nlog_level = loud\n", {"job.log_level = loud", "one of trace, debug"}},
      {kCriteo, "[transport]\nring_bytes = 100\n", {"ring_bytes = 100", "a multiple of 64"}},
      {kCriteo,
       "[dense_optimizer]\nkind = rowwise_adagrad\n",
       {"x.ini:4: dense_optimizer.kind = rowwise_adagrad", "expected: sgd, adagrad or adam"}},

      // Keys without effect.
      {kCriteo, "columns = a\n", {"x.ini:3: data.columns = a has no effect", "format = csv"}},
      {kCriteo, "header = false\n", {"data.header = false has no effect", "take it out"}},
      {kCriteo, "shuffle = false\nshuffle_window = 9\n", {"shuffle_window = 9 has no effect"}},
      {kCriteo, "[model]\nsparse_width = 9\n", {"model.sparse_width = 9", "with kind = ffnn"}},
      {kCriteo, "[model]\nkind = ffnn\nbottom = 9\n", {"x.ini:5: model.bottom", "kind = dlrm"}},
      {kCriteo, "[train]\neval_every = 9\n", {"eval_every = 9 has no effect", "data.valid"}},
      {kCriteo, "[schedule]\ndecay_power = 3\n", {"x.ini:4", "only with decay = polynomial"}},
      {kCriteo, "[schedule]\nsparse = false\n", {"only with a warm-up or decay"}},
      {kCriteo, "[dense_optimizer]\nmomentum = 0.9\n", {"only with kind = sgd"}},
      {kCriteo, "[dense_optimizer]\nkind = sgd\neps = 0.1\n", {"kind = adagrad or adam"}},
      {kCriteo, "[table.*]\nmomentum = 0.9\n", {"x.ini:4: table.*.momentum", "optimizer = sgd"}},
      {kCriteo,
       "[table.*]\noptimizer = ftrl\nweight_decay = 0.1\n",
       {"x.ini:5: table.*.weight_decay = 0.1 has no effect", "an optimizer other than ftrl"}},
      {kCriteo, "[table.C1]\neviction = none\n", {"table.C1.eviction", "only with a capacity"}},
      {kCriteo,
       "[table.C1]\nhash_buckets = 9\n",
       {"hash_buckets = 9", "only with hash_rows above"}},
      {kCriteo, "[table.C1]\ncapacity = 9999\nttl = 9\n", {"ttl = 9", "only with eviction = ttl"}},
      {kCsv,
       "[table.job]\noptimizer = adam\n[table.*]\noptimizer = sgd\nbeta1 = 0.5\n",
       {"x.ini:12: table.*.beta1 = 0.5 has no effect",
        "take it out, or give --table.*.beta1=default"}},

      // Names.
      {kCriteo, "[table.C27]\ndim = 3\n", {"x.ini:4: table.C27.dim = 3 matches no table", "C26"}},
      {kCriteo, "[slot.I1]\ntable = a\n", {"slot.I1.table = a matches no slot", "[slot.I1]"}},
      {kCriteo, "[slot.C1]\ntable = a/b\n", {"slot.C1.table = a/b is not a name"}},
      {kCriteo, "[slot.*]\ntable = a\n[table.C1]\ndim = 3\n", {"matches no table (there are a)"}},

      // Data.
      {"", "", {"data.train must be set", "--data.train="}},
      {"[data]\ntrain =\n", "", {"x.ini:2: data.train = \"\" must be set"}},
      {"[data]\nformat = csv\ntrain = t\n", "", {"data.label must be set"}},
      {"[data]\nformat = csv\ntrain = t\nlabel = y\n", "", {"data.categorical must be set"}},
      {"[data]\nformat = csv\ntrain = t\nlabel = y\ncategorical = a\n",
       "",
       {"data.columns must be set", "data.header = true"}},
      {"[data]\nformat = csv\ntrain = t\nlabel = y\ncolumns = a, y\ncategorical = aa\n",
       "",
       {"x.ini:6: data.categorical = aa names the column aa", "did you mean a?"}},
      {"[data]\nformat = csv\ntrain = t\nlabel = y\ncolumns = a, y, a\ncategorical = a\n",
       "",
       {"x.ini:5: data.columns = a, y, a names a twice"}},
      {"[data]\nformat = csv\ntrain = t\nlabel = y\ncolumns = a, y\ncategorical = a\nnumeric = a\n",
       "",
       {"x.ini:7: data.numeric = a names a, as data.categorical does"}},
      {"[data]\nformat = csv\ntrain = t\nlabel = y\ncolumns = a, y\ncategorical = a, y\n",
       "",
       {"x.ini:4: data.label = y is a feature too"}},
      {"[data]\nformat = csv\ntrain = t\nlabel = y\ncolumns = a/b, y\ncategorical = a/b\n",
       "",
       {"x.ini:6: data.categorical = a/b cannot make a slot of \"a/b\""}},

      // Combinations.
      {kCriteo,
       "[table.C3]\ndim = 8\n",
       {"x.ini:4: table.C3.dim = 8", "C3 has dim 8, table C1 has dim 16", "set model.kind = ffnn"}},
      {"[data]\nformat = csv\ntrain = t\nlabel = y\ncolumns = a, y\ncategorical = a\n",
       "[model]\nkind = dlrm\n",
       {"x.ini:8: model.kind = dlrm cannot be dlrm without dense features", "data.numeric"}},
      {kCriteo,
       "[train]\nmode = sync\nstaleness = 4\n",
       {"x.ini:5: train.staleness = 4 does not go with train.mode = sync", "mode = hybrid"}},
      {kCriteo, "[schedule]\ndecay = cosine\n", {"schedule.decay_steps must be set"}},
      {kCriteo,
       "[schedule]\nwarmup_steps = 9\ndecay = cosine\ndecay_steps = 5\ndecay_start = 8\n",
       {"x.ini:7: schedule.decay_start = 8 lies within the warm-up", "warmup_steps = 9"}},
      {kCriteo,
       "[schedule]\ndecay = step\ndecay_steps = 5\n",
       {"schedule.end_factor must be between 0 and 1"}},
      {kCriteo,
       "[table.C2]\ncapacity = 100\n",
       {"x.ini:4: table.C2.capacity = 100 is less than one batch can need", "at least 2048"}},
      {kCriteo,
       "[slot.C2]\ntable = C1\n[table.C1]\ncapacity = 4095\n",
       {"2048 samples times 2 slots of table C1", "at least 4096"}},
      {kCriteo,
       "[table.C1]\nhash_rows = 2\nhash_buckets = 9999\ncapacity = 4095\n",
       {"1 slots of table C1, 2 of 19998 hashed rows each", "at least 4096"}},
      {kCriteo,
       "[table.C1]\nhash_rows = 2\nhash_buckets = 100\ncapacity = 199\n",
       {"x.ini:6: table.C1.capacity = 199 is less than one batch can need", "at least 200"}},
      {kCriteo,
       "[table.C1]\nhash_rows = 2\n",
       {"table.C1.hash_buckets must be set (hash_rows = 2)"}},
      {kCriteo,
       "[table.C1]\nhash_rows = 2\nhash_buckets = 4611686018427387904\n",
       {"x.ini:5: table.C1.hash_buckets = 4611686018427387904 makes more rows than",
        "at most 4611686018427387903"}},
      {kCriteo,
       "[table.*]\ncapacity = 9999\ncapacity_bytes = 99999\n",
       {"x.ini:5: table.*.capacity_bytes = 99999 does not go with a capacity in rows",
        "table.C1.capacity = 9999", "one of the two"}},
      {kCriteo, "[table.C1]\neviction = ttl\n", {"table.C1.ttl must be set (eviction = ttl)"}},
  };
  return all;
}

TEST(Refusals, SayWhereWhatAndWhatToDo) {
  for (const auto& c : cases()) {
    const auto text = with(c.base, c.more);
    const auto message = refusal([&] { resolved(text); });
    for (const auto& part : c.message) EXPECT_THAT(message, HasSubstr(part)) << text;
  }
}

TEST(Refusals, CutWhatIsLongOrNotText) {
  const auto long_line = std::string(1000, 'x') + "\x01\n";
  EXPECT_LE(refusal([&] { resolved(long_line); }).size(), 300u);
  EXPECT_THAT(refusal([] { resolved("a\x01 b = 3"); }), HasSubstr("a? b = 3"));
}

/// Damaged files are refused or happen to be right; nothing else comes of them.
TEST(Refusals, OfAnyDamage) {
  const auto whole = with(kCsv,
                          "[table.*]\nlr = 0.1\noptimizer = adam\n[slot.job]\ntable = \"a\"\n"
                          "[train]\nmode = sync\n[schedule]\nwarmup_steps = 3 # some\n");
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    auto text = whole;
    for (int damage = 0; damage < 3; ++damage)
      text[random() % text.size()] = "[]=.,*#\"\\\n \0x7"[random() % 14];
    try {
      resolved(text);
    } catch (const ConfigError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(Refusals, OfTheCommandLine) {
  EXPECT_THAT(refusal([] { resolved(kCriteo, {"--train.epoch=2"}); }),
              HasSubstr("command line: unknown key train.epoch; did you mean train.epochs?"));
  EXPECT_THAT(refusal([] { resolved(kCriteo, {"--train.epochs=two"}); }),
              HasSubstr("command line: train.epochs = two is not a whole number; expected: whole"));
}

}  // namespace
}  // namespace satrap::config
