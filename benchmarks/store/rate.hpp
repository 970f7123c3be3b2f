#pragma once

#include <string>
#include <vector>

#include "core/thread_time.hpp"
#include "figure.hpp"
#include "workload.hpp"

namespace satrap::bench {

/// Rows per second of batches.
class Rate {
 public:
  template <class Run>
  void time(Run&& run) {
    const double begin = thread_seconds();
    run();
    const double passed = thread_seconds() - begin;
    total_ += passed;
    rates_.push_back(static_cast<double>(kBatch) / passed);
  }
  double median() const { return bench::median(rates_); }
  /// Rare long batches included.
  double mean() const { return static_cast<double>(kBatch * rates_.size()) / total_; }
  double total() const { return total_; }

 private:
  std::vector<double> rates_;
  double total_ = 0;
};

/// Batches of figure and limit in turn, drawn anew each time; medians. Each goes first every other
/// time: the second one finds the batch and its results in the cache.
template <class Value, class Limit>
void compare(Batches& batches, double seconds, std::string name, Value&& figure,
             std::string limit_name, Limit&& limit, std::optional<double> target) {
  Rate value, limit_value;
  for (int round = -10; round < 0 || value.total() + limit_value.total() < seconds; ++round) {
    batches.draw();
    if (round < 0) {
      figure();
      limit();
    } else if (round % 2 == 0) {
      value.time(figure);
      limit_value.time(limit);
    } else {
      limit_value.time(limit);
      value.time(figure);
    }
  }
  print({name, value.median(), "rows/s", limit_name, limit_value.median(), target});
}

}  // namespace satrap::bench
