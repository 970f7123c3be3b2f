#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/batch.hpp"
#include "data/dense_transform.hpp"
#include "data/files.hpp"

namespace satrap::data {

/// Reads the first sample of `files`, so that files of another format, empty and damaged ones are
/// found before work starts. Throws DataError.
void check_first_sample(const config::Config& config, const std::vector<std::string>& files);

/// The samples of some files in a deterministic order that depends on (files, seed, epoch) alone:
/// file order, shuffled within consecutive windows of data.shuffle_window samples (training), or
/// plain file order (evaluation). Every rank reads the same lines and parses only those of its own
/// samples, so that who reads what never changes the order. Memory: one or two windows of text
/// lines. Formats, order and errors: docs/data.md.
///
/// Not thread-safe; used from one thread.
class SampleReader {
 public:
  enum class Order { shuffled, sequential };

  /// `files` as expand_files gave them. Opens nothing before the first use. `scaling` is that of
  /// the trained model where there is one; if it is empty and the config standardizes, the reader
  /// fits it to data.train before it parses its first sample (fit_dense_scaling). After `stop` was
  /// asked for, a call under way ends soon, as if the data ended, and what follows is of no use.
  SampleReader(const config::Config& config, std::vector<std::string> files, Order order,
               DenseScaling scaling = {}, std::stop_token stop = {});
  ~SampleReader();

  /// Goes to `position`. A position behind the end of the epoch is that end. Costs a scan of the
  /// text from the start of the epoch, or from here if `position` lies ahead.
  void seek(Position position);
  Position position() const noexcept;

  /// Takes the next samples of this epoch as the current step: `batch` of them, fewer at the end of
  /// the epoch; returns how many. 0: the epoch is over, and the reader is at the start of the next
  /// one. Throws DataError with file and line for a line that cannot be split off (truncated .gz
  /// and the like), and if the files hold no sample at all.
  std::int64_t next_step(std::int64_t batch);

  /// Parses samples [first, last) of the current step into `out`, replacing what it held; may be
  /// called for any parts of the step. A bad row throws DataError with file, line, column and what
  /// is wrong, unless data.max_bad_rows allows it: then it is counted and left out, and `out` is
  /// smaller. The allowance is per epoch and reader.
  void parse(std::int64_t first, std::int64_t last, SampleBatch& out);

  /// Bad rows left out since the reader was made.
  std::int64_t bad_rows() const noexcept;
  /// Share of this epoch's bytes that have been read, in [0, 1]; for progress.
  double fraction() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace satrap::data
