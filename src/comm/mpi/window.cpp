#include "comm/mpi/window.hpp"

#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "comm/mpi/check.hpp"
#include "comm/mpi/open_mpi.hpp"
#include "comm/mpi/pieces.hpp"
#include "core/error.hpp"

namespace satrap::comm {

namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::string_view kRemedy =
    "on one host give /dev/shm more space or set OMPI_MCA_osc_sm_backing_directory=/tmp; between "
    "hosts without InfiniBand set OMPI_MCA_osc=pt2pt, with it OMPI_MCA_osc=ucx";

MPI_Win native(void* handle) noexcept {
  return static_cast<MPI_Win>(handle);
}

/// Lets Open MPI place each rank's part on pages of its own, and so on its NUMA node.
class WindowInfo {
 public:
  WindowInfo() {
    SATRAP_MPI(MPI_Info_create(&info_));
    SATRAP_MPI(MPI_Info_set(info_, "alloc_shared_noncontig", "true"));
  }
  ~WindowInfo() { SATRAP_MPI_QUIETLY(MPI_Info_free(&info_)); }
  WindowInfo(const WindowInfo&) = delete;
  WindowInfo& operator=(const WindowInfo&) = delete;

  MPI_Info get() const noexcept { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

std::int64_t total_of(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

bool on_one_host(const Communicator& communicator) {
  MPI_Comm host = MPI_COMM_NULL;
  SATRAP_MPI(MPI_Comm_split_type(detail::native(communicator), MPI_COMM_TYPE_SHARED, 0,
                                 MPI_INFO_NULL, &host));
  int ranks = 0;
  SATRAP_MPI(MPI_Comm_size(host, &ranks));
  SATRAP_MPI(MPI_Comm_free(&host));
  return ranks == communicator.size();
}

/// Where Open MPI finds no room for shared memory, one rank fails and the others hang.
void check_room(const Communicator& communicator, std::int64_t bytes) {
  const auto directory = shared_memory_directory();
  std::error_code unknown;
  const auto space = std::filesystem::space(directory, unknown);
  const auto free = communicator.all_gather(unknown ? std::numeric_limits<std::int64_t>::max()
                                                    : static_cast<std::int64_t>(space.available));
  const std::int64_t found = free[0];  // ranks must agree
  // Pages of its own for each rank, and a reserve that Open MPI insists on.
  if (bytes <= found - found / 8) return;
  throw InternalError(
      fmt::format("the ranks of this host need {} MB of shared memory", bytes / 1'000'000),
      fmt::format("{} has room for {} MB", directory.string(), found / 1'000'000),
      "lower train.global_batch, train.staleness or transport.ring_bytes, give it more room, or "
      "set OMPI_MCA_osc_sm_backing_directory=/tmp");
}

}  // namespace

// Delegates, so that the destructor runs if the rest throws.
Window::Window(const Communicator& communicator, std::int64_t bytes) : Window() {
  size_ = bytes;
  const auto sizes = communicator.all_gather(size_);
  const bool shared = allows_osc("sm") && on_one_host(communicator) &&
                      allocate_shared(communicator, total_of(sizes));
  if (!shared) allocate(communicator);
  SATRAP_MPI(MPI_Win_set_errhandler(native(handle_), MPI_ERRORS_RETURN));
  // Nobody takes an exclusive lock, so that there is nothing to check.
  SATRAP_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, native(handle_)));

  const auto address = reinterpret_cast<std::uintptr_t>(data_);
  const auto begin = static_cast<std::int64_t>((kAlignment - address % kAlignment) % kAlignment);
  data_ += begin;
  std::memset(data_, 0, static_cast<std::size_t>(size_));
  SATRAP_MPI(MPI_Win_sync(native(handle_)));
  // This also keeps puts from arriving before the memory is cleared.
  const auto begins = communicator.all_gather(begin);
  for (int r = 0; r < communicator.size(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    peers_.push_back({begins[i], sizes[i], shared ? shared_data(r) + begins[i] : nullptr});
  }
}

/// False, on every rank alike, where this Open MPI has no osc/sm.
bool Window::allocate_shared(const Communicator& communicator, std::int64_t all_bytes) {
  check_room(communicator, all_bytes);
  const WindowInfo info;
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(size_ + kAlignment), 1, info.get(),
                                           detail::native(communicator), &base, &window);
  const auto made = communicator.all_gather(std::int64_t{code == MPI_SUCCESS});
  const std::int64_t successes = total_of(made);
  if (successes == 0) return false;
  if (successes < communicator.size()) {
    throw InternalError(fmt::format("only {} of {} ranks can share memory", successes, made.size()),
                        "MPI_Win_allocate_shared failed on the others", kRemedy);
  }
  handle_ = window;
  data_ = static_cast<std::byte*>(base);
  return true;
}

void Window::allocate(const Communicator& communicator) {
  const WindowInfo info;
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  try {
    SATRAP_MPI(MPI_Win_allocate(static_cast<MPI_Aint>(size_ + kAlignment), 1, info.get(),
                                detail::native(communicator), &base, &window));
  } catch (const InternalError& error) {
    throw InternalError(
        fmt::format("rank {} cannot make a window of {} bytes", communicator.rank(), size_),
        error.what(), kRemedy);
  }
  handle_ = window;
  data_ = static_cast<std::byte*>(base);
}

std::byte* Window::shared_data(int rank) const {
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  SATRAP_MPI(MPI_Win_shared_query(native(handle_), rank, &size, &unit, &base));
  return static_cast<std::byte*>(base);
}

Window::Window(Window&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      peers_(std::exchange(other.peers_, {})) {}

Window& Window::operator=(Window&& other) noexcept {
  Window taken(std::move(other));
  std::swap(handle_, taken.handle_);
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  std::swap(peers_, taken.peers_);
  return *this;
}

Window::~Window() {
  release();
}

void Window::release() noexcept {
  if (handle_ == nullptr || std::uncaught_exceptions() > 0 || !detail::is_running()) return;
  auto window = native(handle_);
  SATRAP_MPI_QUIETLY(MPI_Win_unlock_all(window));
  SATRAP_MPI_QUIETLY(MPI_Win_free(&window));
}

std::int64_t Window::displacement(int target, std::int64_t offset, std::int64_t bytes) const {
  if (target < 0 || static_cast<std::size_t>(target) >= peers_.size()) {
    throw InternalError(fmt::format("put to rank {} of {}", target, peers_.size()));
  }
  const Peer& peer = peers_[static_cast<std::size_t>(target)];
  if (offset < 0 || bytes > peer.size || offset > peer.size - bytes) {
    throw InternalError(
        fmt::format("put of {} bytes at offset {} of rank {}'s window", bytes, offset, target),
        fmt::format("it has {} bytes", peer.size));
  }
  return peer.begin + offset;
}

void Window::put(int target, std::int64_t offset, std::span<const std::byte> source) {
  const auto bytes = static_cast<std::int64_t>(source.size());
  const std::int64_t place = displacement(target, offset, bytes);
  detail::for_each_piece(bytes, detail::kMaxCount, [&](std::int64_t begin, int count) {
    SATRAP_MPI(MPI_Put(source.data() + begin, count, MPI_BYTE, target,
                       static_cast<MPI_Aint>(place + begin), count, MPI_BYTE, native(handle_)));
  });
}

void Window::put(int target, std::int64_t offset, const std::uint64_t& word) {
  SATRAP_EXPECT(offset % 8 == 0);
  const auto place = static_cast<MPI_Aint>(displacement(target, offset, sizeof word));
  SATRAP_MPI(MPI_Put(&word, 1, MPI_UINT64_T, target, place, 1, MPI_UINT64_T, native(handle_)));
}

void Window::flush(int target) {
  SATRAP_MPI(MPI_Win_flush(target, native(handle_)));
}

void Window::flush_all() {
  SATRAP_MPI(MPI_Win_flush_all(native(handle_)));
}

void Window::flush_local(int target) {
  SATRAP_MPI(MPI_Win_flush_local(target, native(handle_)));
}

void Window::flush_local_all() {
  SATRAP_MPI(MPI_Win_flush_local_all(native(handle_)));
}

void Window::sync() {
  SATRAP_MPI(MPI_Win_sync(native(handle_)));
  // Nobody sends to this: it makes MPI serve its peers (osc/ucx does nothing in MPI_Win_sync).
  int found = 0;
  SATRAP_MPI(MPI_Iprobe(0, 0, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE));
}

}  // namespace satrap::comm
