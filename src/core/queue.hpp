#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace satrap {

/// A bounded first-in first-out queue between threads of one process. Any number of producers and
/// consumers. close() ends it: producers get false, consumers get what is left and then nothing.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Blocks while full. False, with `value` dropped, if the queue is closed.
  bool push(T value) {
    std::unique_lock lock(mutex_);
    space_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(value));
    filled_.notify_one();
    return true;
  }

  /// Blocks while empty. Nothing if the queue is closed and drained.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    return take();
  }

  /// Never blocks.
  std::optional<T> try_pop() {
    std::unique_lock lock(mutex_);
    return take();
  }

  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    space_.notify_all();
    filled_.notify_all();
  }

  std::size_t size() const {
    std::unique_lock lock(mutex_);
    return items_.size();
  }

 private:
  std::optional<T> take() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    space_.notify_one();
    return value;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable space_;
  std::condition_variable filled_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace satrap
