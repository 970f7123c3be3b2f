#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/batch.hpp"

namespace satrap::data {

/// Expands globs (sorted within one entry) and checks that every file exists and can be opened.
/// Throws DataError that names the entry.
std::vector<std::string> expand_files(const std::vector<std::string>& entries);

/// The samples of some files in a deterministic order that depends on (files, seed, epoch) alone:
/// file order, shuffled within consecutive windows of data.shuffle_window samples (training), or
/// plain file order (evaluation). Every rank reads the same lines and parses only those of its own
/// samples, so that who reads what never changes the order. Memory: one or two windows of text
/// lines.
///
/// Not thread-safe; used from one thread.
class SampleReader {
 public:
  enum class Order { shuffled, sequential };

  /// `files` as expand_files gave them. Opens nothing before the first use.
  SampleReader(const config::Config& config, std::vector<std::string> files, Order order);
  ~SampleReader();

  /// Goes to `position`. A position behind the end of the epoch is that end.
  void seek(Position position);
  Position position() const noexcept;

  /// Takes the next samples of this epoch as the current step: `batch` of them, fewer at the end of
  /// the epoch; returns how many. 0: the epoch is over, and the reader is at the start of the next
  /// one. Throws DataError with file and line for a line that cannot be split off (truncated .gz
  /// and the like).
  std::int64_t next_step(std::int64_t batch);

  /// Parses samples [first, last) of the current step into `out`, replacing what it held. A bad row
  /// throws DataError with file, line, column and what is wrong, unless data.max_bad_rows allows
  /// it: then it is counted and left out, and `out` is smaller.
  void parse(std::int64_t first, std::int64_t last, SampleBatch& out);

  std::int64_t bad_rows() const noexcept;
  /// Share of this epoch's bytes that have been read, in [0, 1]; for progress.
  double fraction() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace satrap::data
