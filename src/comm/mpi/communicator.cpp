#include "comm/mpi/communicator.hpp"

#include <numeric>
#include <utility>

#include "comm/mpi/check.hpp"
#include "comm/mpi/pieces.hpp"
#include "core/error.hpp"

namespace satrap::comm {

namespace {

Communicator::Handle duplicate_of(MPI_Comm communicator) {
  MPI_Comm copy = MPI_COMM_NULL;
  SATRAP_MPI(MPI_Comm_dup(communicator, &copy));
  return copy;
}

}  // namespace

Communicator::Communicator(Handle handle) : handle_(handle) {
  const auto communicator = static_cast<MPI_Comm>(handle);
  SATRAP_MPI(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN));
  SATRAP_MPI(MPI_Comm_rank(communicator, &rank_));
  SATRAP_MPI(MPI_Comm_size(communicator, &size_));
}

Communicator::Communicator(Communicator&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      rank_(std::exchange(other.rank_, 0)),
      size_(std::exchange(other.size_, 0)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  Communicator taken(std::move(other));
  std::swap(handle_, taken.handle_);
  std::swap(rank_, taken.rank_);
  std::swap(size_, taken.size_);
  return *this;
}

Communicator::~Communicator() {
  if (handle_ == nullptr || !detail::is_running()) return;
  auto communicator = static_cast<MPI_Comm>(handle_);
  SATRAP_MPI_QUIETLY(MPI_Comm_free(&communicator));
}

Communicator Communicator::world() {
  return Communicator(duplicate_of(MPI_COMM_WORLD));
}

Communicator Communicator::duplicate() const {
  return Communicator(duplicate_of(detail::native(*this)));
}

Communicator Communicator::split(int color, int key) const {
  MPI_Comm part = MPI_COMM_NULL;
  SATRAP_MPI(MPI_Comm_split(detail::native(*this), color < 0 ? MPI_UNDEFINED : color, key, &part));
  return part == MPI_COMM_NULL ? Communicator() : Communicator(part);
}

void Communicator::barrier() const {
  SATRAP_MPI(MPI_Barrier(detail::native(*this)));
}

std::string Communicator::broadcast(std::string text, int root) const {
  auto size = static_cast<std::int64_t>(text.size());
  SATRAP_MPI(MPI_Bcast(&size, 1, MPI_INT64_T, root, detail::native(*this)));
  text.resize(static_cast<std::size_t>(size));
  detail::for_each_piece(size, detail::kMaxCount, [&](std::int64_t begin, int count) {
    SATRAP_MPI(MPI_Bcast(text.data() + begin, count, MPI_CHAR, root, detail::native(*this)));
  });
  return text;
}

std::vector<std::int64_t> Communicator::all_gather(std::int64_t value) const {
  std::vector<std::int64_t> values(static_cast<std::size_t>(size_));
  SATRAP_MPI(
      MPI_Allgather(&value, 1, MPI_INT64_T, values.data(), 1, MPI_INT64_T, detail::native(*this)));
  return values;
}

std::vector<std::string> Communicator::all_gather(const std::string& text) const {
  const auto lengths = all_gather(static_cast<std::int64_t>(text.size()));
  const auto total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  if (total > detail::kMaxCount) {
    throw InternalError(fmt::format("texts of {} bytes cannot be gathered", total),
                        fmt::format("the limit is {} bytes", detail::kMaxCount));
  }
  const std::vector<int> counts(lengths.begin(), lengths.end());
  std::vector<int> begins(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, begins.begin() + 1);
  std::string all(static_cast<std::size_t>(total), '\0');
  SATRAP_MPI(MPI_Allgatherv(text.data(), static_cast<int>(text.size()), MPI_CHAR, all.data(),
                            counts.data(), begins.data(), MPI_CHAR, detail::native(*this)));
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    texts.push_back(
        all.substr(static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(counts[r])));
  }
  return texts;
}

}  // namespace satrap::comm
