#include "config/fields/rules.hpp"

namespace satrap::config {

namespace {

bool has_valid(const Config& config, const TrainConfig&) {
  return !config.data.valid.empty();
}

constexpr std::int64_t kMostRanks = 1'000'000;
constexpr std::int64_t kMostSamples = 1'000'000'000;
constexpr std::int64_t kMostBytes = 1'000'000'000'000;

Rule<std::int64_t> ring_size() {
  return {"at least 4096 and a multiple of 64",
          [](std::int64_t v) { return 4096 <= v && v <= kMostBytes && v % 64 == 0; }};
}

}  // namespace

template <>
const std::vector<Field<JobConfig>>& fields() {
  using C = JobConfig;
  static const std::vector<Field<C>> all = {
      field("run_dir", &C::run_dir, "Directory of everything the run writes.", not_empty()),
      field("seed", &C::seed, "Of new rows, dense weights and shuffling."),
      field("resume", &C::resume,
            "auto: go on from the newest checkpoint in run_dir, if any; never: start anew; else a "
            "checkpoint directory step-N to start from.",
            not_empty()),
      field("log_level", &C::log_level, "The least level that goes to the log file.",
            one_of({"trace", "debug", "info", "warning", "error", "critical", "off"})),
      field("progress_interval", &C::progress_interval, "Seconds between two progress lines.",
            positive()),
  };
  return all;
}

template <>
const std::vector<Field<RolesConfig>>& fields() {
  using C = RolesConfig;
  static const std::vector<Field<C>> all = {
      field("servers", &C::servers, "Embedding servers; each holds a shard of every table.",
            between(1, kMostRanks)),
      field("workers", &C::workers,
            "Embedding workers, which read and look up; 0: every trainer does it itself.",
            between(0, kMostRanks)),
      field("trainers", &C::trainers, "Trainers; 0: every rank that is neither server nor worker.",
            between(0, kMostRanks)),
  };
  return all;
}

template <>
const std::vector<Field<TrainConfig>>& fields() {
  using C = TrainConfig;
  static const Condition<C> with_valid{"with data.valid", has_valid};
  static const std::vector<Field<C>> all = {
      field("mode", &C::mode,
            "sync: each lookup sees every gradient of the step before; hybrid: lookups run ahead "
            "of the gradients by at most staleness."),
      field("global_batch", &C::global_batch, "Samples per step, over all trainers.",
            between(1, kMostSamples)),
      field("epochs", &C::epochs, "Passes over data.train.", between(1, 1'000'000'000)),
      field("steps", &C::steps,
            "Stop after this many steps, even within an epoch; 0: when the epochs are done.",
            at_least(0)),
      field("staleness", &C::staleness,
            "Bound on the in-flight batches of a trainer, the one being looked up included; 1: no "
            "staleness. Always 1 with mode = sync.",
            between(1, 1024)),
      field("eval_every", &C::eval_every, "Steps between evaluations; 0: only at the end.",
            at_least(0), with_valid),
      field("eval_batch", &C::eval_batch,
            "Samples per evaluation batch, over all trainers; 0: global_batch.",
            between(0, kMostSamples), with_valid),
      field("drop_last", &C::drop_last,
            "Leave out the last step of an epoch if it is smaller than global_batch."),
      field("max_nonfinite_steps", &C::max_nonfinite_steps,
            "Stop after this many steps in a row whose loss or gradient is not finite; each is "
            "skipped.",
            at_least(1)),
  };
  return all;
}

template <>
const std::vector<Field<CheckpointConfig>>& fields() {
  using C = CheckpointConfig;
  static const std::vector<Field<C>> all = {
      field("every", &C::every, "Steps between checkpoints; 0: none on the way.", at_least(0)),
      field("at_end", &C::at_end, "Save when training is done."),
      field("keep", &C::keep, "Complete checkpoints that stay; older ones are removed.",
            at_least(1)),
      field("virtual_shards", &C::virtual_shards,
            "Parts that rows are spread over; servers own ranges of them. Fixed for the life of a "
            "model.",
            between(1, 1'000'000)),
  };
  return all;
}

template <>
const std::vector<Field<TransportConfig>>& fields() {
  using C = TransportConfig;
  static const std::vector<Field<C>> all = {
      bytes_field("ring_bytes", &C::ring_bytes,
                  "Size of the ring between two ranks; the longest message is a quarter of it.",
                  ring_size()),
      bytes_field(
          "reply_bytes", &C::reply_bytes,
          "Memory of a trainer for the rows of its in-flight batches; 0: as much as the batch "
          "can need.",
          between(0, kMostBytes)),
      field("spin_us", &C::spin_us, "Microseconds that an idle rank polls before it sleeps.",
            between(0, 1'000'000)),
      field("max_sleep_us", &C::max_sleep_us, "The longest sleep of an idle rank, in microseconds.",
            between(1, 1'000'000)),
  };
  return all;
}

}  // namespace satrap::config
