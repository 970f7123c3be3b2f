#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "store/row_layout.hpp"

namespace satrap::bench {

/// Huge-page memory in one piece.
class PlainMemory {
 public:
  /// `touched`: whether all of it has been written to already.
  PlainMemory(std::size_t bytes, bool touched);
  ~PlainMemory();
  PlainMemory(const PlainMemory&) = delete;
  PlainMemory& operator=(const PlainMemory&) = delete;

  std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// The limit: rows of the same size as a table's in one piece of huge-page memory, at known places.
/// No ids, no index, no optimizer, no conversion; memory is fetched ahead as the store does it.
/// What is read and written of a row are as many bytes as its weights have, at its start.
class PlainRows {
 public:
  /// `touched`: whether all of the memory has been written to already.
  PlainRows(std::int64_t rows, const store::RowLayout& layout, bool touched = true);

  // `values` are [n, floats], floats the bytes of a row's weights / 4, rounded up.

  /// values = rows.
  void gather(std::span<const std::uint32_t> places, float* values) const;
  /// rows += values.
  void add(std::span<const std::uint32_t> places, const float* values);
  /// rows = values.
  void write(std::span<const std::uint32_t> places, const float* values);

  std::int64_t rows() const noexcept { return rows_; }

 private:
  template <class Visit>
  void visit(std::span<const std::uint32_t> places, Visit&& visit) const;

  std::int64_t rows_;
  std::size_t stride_;  ///< Bytes from row to row.
  std::size_t floats_;
  PlainMemory memory_;
};

/// What an index costs at least that reads one cache line per search: lines of memory at random
/// places, as many as the store's index has for `rows` rows. Nothing is compared or computed.
class PlainIndex {
 public:
  explicit PlainIndex(std::int64_t rows);

  /// Reads a line for each of `places`; returns something that depends on all of them.
  std::uint64_t look(std::span<const std::uint32_t> places) const;

 private:
  PlainMemory memory_;
  std::uint64_t lines_;
};

}  // namespace satrap::bench
