#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "config/config.hpp"
#include "core/hash.hpp"
#include "core/queue.hpp"
#include "core/types.hpp"
#include "data/batch.hpp"
#include "data/reader.hpp"

namespace satrap::worker {

/// One global step's samples as far as some trainers are concerned, ids deduplicated.
struct PreparedStep {
  Step step = 0;                    ///< From 1; evaluation batches count from 1 too.
  data::Position next;              ///< Of the first sample behind this step.
  std::int64_t global_samples = 0;  ///< Over all trainers.
  double fraction = 0;              ///< Share of the epoch's data read so far.
  std::int64_t bad_rows = 0;        ///< Left out so far by this producer.
  /// One per trainer asked for, in that order.
  std::vector<std::shared_ptr<const data::IdBatch>> batches;
};

/// Reads, splits and deduplicates the samples of some trainers in a thread of its own, a few steps
/// ahead. Global step s takes the next global_batch samples of the global order; trainer k of T
/// takes [n * k / T, n * (k + 1) / T) of the n samples that a full step has, so that the last,
/// smaller step leaves the last trainers with fewer samples or none.
class BatchProducer {
 public:
  struct Options {
    std::vector<std::string> files;
    data::SampleReader::Order order = data::SampleReader::Order::shuffled;
    std::int64_t batch = 0;
    std::int64_t epochs = 1;
    std::int64_t max_steps = 0;  ///< The last step; 0: as many as the epochs have.
    bool drop_last = false;
    Step start = 0;  ///< The step before the first one.
    data::Position position;
    std::vector<TrainerId> trainers;  ///< To prepare batches for.
    std::int64_t all_trainers = 1;
  };

  BatchProducer(const config::Config& config, const RowPlacement& placement, Options options);
  ~BatchProducer();  ///< Stops the thread, even in the middle of a long way to a position.

  /// The next step if it is ready. Never blocks. Rethrows what went wrong in the thread.
  std::optional<PreparedStep> try_next();
  /// Whether try_next() has given the last step. An empty queue alone does not say so.
  bool finished() const noexcept { return finished_; }

 private:
  void produce(const config::Config& config, const RowPlacement& placement,
               const std::stop_token& stop);

  Options options_;
  BoundedQueue<PreparedStep> queue_;
  std::exception_ptr error_;        ///< Written before ended_.
  std::atomic<bool> ended_{false};  ///< The thread will push no more.
  bool finished_ = false;
  std::jthread thread_;
};

}  // namespace satrap::worker
