#include "comm/collective/collectives.hpp"

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <utility>

#include "comm/mpi/check.hpp"
#include "comm/mpi/pieces.hpp"
#include "core/error.hpp"

namespace satrap::comm {

using detail::for_each_piece;
using detail::kMaxCount;

/// Operations start and finish in the order in which they were posted: operation n is finished when
/// finished_ >= n. Several may be under way at once.
class Collectives::Impl {
 public:
  /// Starts an operation by adding its requests; run by the MPI thread.
  using Start = std::function<void(MPI_Comm, std::vector<MPI_Request>&)>;

  explicit Impl(const Communicator& communicator) : communicator_(communicator.duplicate()) {}

  const Communicator& communicator() const noexcept { return communicator_; }
  bool alone() const noexcept { return communicator_.size() == 1; }

  // Compute thread.
  void post(Start start);
  void wait();
  void run(Start start) {
    post(std::move(start));
    wait();
  }

  // MPI thread.
  bool progress();
  void abandon();

 private:
  bool done() const noexcept {
    return abandoned_.load(std::memory_order_relaxed) ||
           finished_.load(std::memory_order_acquire) >= posted_.load(std::memory_order_relaxed);
  }
  bool start_posted();
  bool finish_oldest();

  Communicator communicator_;
  std::mutex mutex_;  ///< Of waiting_ and changed_.
  std::condition_variable changed_;
  std::deque<Start> waiting_;  ///< Posted, not started.
  std::atomic<std::uint64_t> posted_ = 0;
  std::atomic<std::uint64_t> finished_ = 0;
  std::atomic<bool> abandoned_ = false;

  // MPI thread's own.
  std::deque<std::vector<MPI_Request>> running_;
  std::uint64_t started_ = 0;
};

void Collectives::Impl::post(Start start) {
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(std::move(start));
  posted_.fetch_add(1, std::memory_order_release);
}

void Collectives::Impl::wait() {
  // Short ones end before a sleeping thread could wake up; yielding lets the MPI thread do its part
  // on the same core.
  constexpr int kYields = 100;
  for (int i = 0; i < kYields && !done(); ++i) sched_yield();
  if (!done()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done(); });
  }
  if (abandoned_) throw InternalError("a collective was abandoned", "this rank is failing");
}

bool Collectives::Impl::progress() {
  if (abandoned_) return false;
  const bool started = start_posted();
  bool finished = false;
  while (finish_oldest()) finished = true;
  return started || finished;
}

bool Collectives::Impl::start_posted() {
  if (started_ == posted_.load(std::memory_order_acquire)) return false;
  std::deque<Start> starts;
  {
    const std::scoped_lock lock(mutex_);
    starts.swap(waiting_);
  }
  for (const Start& start : starts) {
    start(detail::native(communicator_), running_.emplace_back());
    ++started_;
  }
  return true;
}

bool Collectives::Impl::finish_oldest() {
  if (running_.empty()) return false;
  std::vector<MPI_Request>& requests = running_.front();
  int all = 0;
  SATRAP_MPI(
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE));
  if (all == 0) return false;
  running_.pop_front();
  {
    const std::scoped_lock lock(mutex_);  // so that no waiter checks before and sleeps after
    finished_.fetch_add(1, std::memory_order_release);
  }
  changed_.notify_all();
  return true;
}

void Collectives::Impl::abandon() {
  {
    const std::scoped_lock lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
}

namespace {

/// Starts the pieces of an all-reduce in place over `values`.
template <class T>
auto all_reduce(std::span<T> values, MPI_Datatype type, MPI_Op operation) {
  return [=](MPI_Comm communicator, std::vector<MPI_Request>& requests) {
    for_each_piece(std::ssize(values), kMaxCount, [&](std::int64_t begin, int count) {
      SATRAP_MPI(MPI_Iallreduce(MPI_IN_PLACE, values.data() + begin, count, type, operation,
                                communicator, &requests.emplace_back()));
    });
  };
}

/// Starts sending to, or receiving from, one rank; messages of a pair keep their order.
void send(std::span<const std::byte> bytes, int to, MPI_Comm communicator,
          std::vector<MPI_Request>& requests) {
  for_each_piece(std::ssize(bytes), kMaxCount, [&](std::int64_t begin, int count) {
    SATRAP_MPI(MPI_Isend(bytes.data() + begin, count, MPI_BYTE, to, 0, communicator,
                         &requests.emplace_back()));
  });
}

void receive(std::span<std::byte> bytes, int from, MPI_Comm communicator,
             std::vector<MPI_Request>& requests) {
  for_each_piece(std::ssize(bytes), kMaxCount, [&](std::int64_t begin, int count) {
    SATRAP_MPI(MPI_Irecv(bytes.data() + begin, count, MPI_BYTE, from, 0, communicator,
                         &requests.emplace_back()));
  });
}

}  // namespace

Collectives::Collectives(const Communicator& communicator)
    : impl_(std::make_unique<Impl>(communicator)) {}

Collectives::~Collectives() = default;

int Collectives::rank() const noexcept {
  return impl_->communicator().rank();
}

int Collectives::size() const noexcept {
  return impl_->communicator().size();
}

void Collectives::start_sum(std::span<float> values) {
  if (!impl_->alone()) impl_->post(all_reduce(values, MPI_FLOAT, MPI_SUM));
}

void Collectives::wait_sums() {
  if (!impl_->alone()) impl_->wait();
}

void Collectives::sum(std::span<double> values) {
  if (!impl_->alone()) impl_->run(all_reduce(values, MPI_DOUBLE, MPI_SUM));
}

void Collectives::max(std::span<std::int64_t> values) {
  if (!impl_->alone()) impl_->run(all_reduce(values, MPI_INT64_T, MPI_MAX));
}

void Collectives::broadcast(std::span<float> values, int root) {
  if (impl_->alone()) return;
  impl_->run([=](MPI_Comm communicator, std::vector<MPI_Request>& requests) {
    for_each_piece(std::ssize(values), kMaxCount, [&](std::int64_t begin, int count) {
      SATRAP_MPI(MPI_Ibcast(values.data() + begin, count, MPI_FLOAT, root, communicator,
                            &requests.emplace_back()));
    });
  });
}

void Collectives::barrier() {
  if (impl_->alone()) return;
  impl_->run([](MPI_Comm communicator, std::vector<MPI_Request>& requests) {
    SATRAP_MPI(MPI_Ibarrier(communicator, &requests.emplace_back()));
  });
}

std::vector<std::byte> Collectives::gather(std::span<const std::byte> bytes, int root) {
  if (impl_->alone()) return {bytes.begin(), bytes.end()};
  std::int64_t own = std::ssize(bytes);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank() == root ? size() : 0));
  impl_->run([&](MPI_Comm communicator, std::vector<MPI_Request>& requests) {
    SATRAP_MPI(MPI_Igather(&own, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, root, communicator,
                           &requests.emplace_back()));
  });
  std::vector<std::byte> all(
      static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})));
  impl_->run([&](MPI_Comm communicator, std::vector<MPI_Request>& requests) {
    if (rank() != root) return send(bytes, root, communicator, requests);
    std::span<std::byte> rest(all);
    for (int r = 0; r < size(); ++r) {
      const auto part = rest.first(static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)]));
      rest = rest.subspan(part.size());
      if (r != root) {
        receive(part, r, communicator, requests);
      } else if (!part.empty()) {
        std::memcpy(part.data(), bytes.data(), part.size());
      }
    }
  });
  return all;
}

bool Collectives::progress() {
  return impl_->progress();
}

void Collectives::abandon() {
  impl_->abandon();
}

}  // namespace satrap::comm
