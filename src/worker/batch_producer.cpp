#include "worker/batch_producer.hpp"

#include "core/error.hpp"
#include "data/dedup.hpp"

namespace satrap::worker {

namespace {

// Steps prepared ahead. Two hide the jitter of reading; more only cost memory.
constexpr std::size_t kStepsAhead = 2;

[[noreturn]] void refuse_empty_epoch(std::int64_t batch) {
  throw ConfigError(
      "train.drop_last = true leaves nothing to train on",
      fmt::format("data.train has fewer than the {} samples of train.global_batch", batch),
      "lower train.global_batch, or set train.drop_last = false");
}

}  // namespace

BatchProducer::BatchProducer(const config::Config& config, const RowPlacement& placement,
                             Options options)
    : options_(std::move(options)),
      queue_(kStepsAhead),
      thread_([this, &config, placement](const std::stop_token& stop) {
        try {
          produce(config, placement, stop);
        } catch (...) {
          error_ = std::current_exception();
        }
        ended_.store(true, std::memory_order_release);
      }) {}

BatchProducer::~BatchProducer() {
  queue_.close();
}

std::optional<PreparedStep> BatchProducer::try_next() {
  // In this order: what was pushed before the end is in the queue when ended_ is seen.
  const bool ended = ended_.load(std::memory_order_acquire);
  auto step = queue_.try_pop();
  if (!step && ended) {
    if (error_) std::rethrow_exception(error_);
    finished_ = true;
  }
  return step;
}

void BatchProducer::produce(const config::Config& config, const RowPlacement& placement,
                            const std::stop_token& stop) {
  data::SampleReader reader(config, options_.files, options_.order, {}, stop);
  data::Deduplicator deduplicator(config, placement);
  reader.seek(options_.position);
  Step step = options_.start;
  Step before_epoch = step;
  bool whole_epoch = options_.position.sample == 0;
  while (reader.position().epoch < options_.epochs &&
         (options_.max_steps == 0 || step < options_.max_steps)) {
    const std::int64_t samples = reader.next_step(options_.batch);
    if (samples == 0) {
      if (step == before_epoch && whole_epoch) refuse_empty_epoch(options_.batch);
      before_epoch = step;
      whole_epoch = true;
      continue;
    }
    if (options_.drop_last && samples < options_.batch) continue;
    PreparedStep prepared;
    for (const TrainerId trainer : options_.trainers) {
      const auto border = [&](std::int64_t k) {
        return std::min(samples, options_.batch * k / options_.all_trainers);
      };
      data::SampleBatch batch;
      reader.parse(border(raw(trainer)), border(raw(trainer) + 1), batch);
      auto ids = std::make_shared<data::IdBatch>();
      deduplicator.run(std::move(batch), *ids);
      prepared.batches.push_back(std::move(ids));
    }
    prepared.step = ++step;
    prepared.next = reader.position();
    prepared.global_samples = samples;
    prepared.fraction = reader.fraction();
    prepared.bad_rows = reader.bad_rows();
    if (!queue_.push(std::move(prepared))) return;
  }
}

}  // namespace satrap::worker
