#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "store/arena.hpp"
#include "store/table.hpp"

namespace satrap::bench {

/// What one lookup or update of a server holds.
inline constexpr std::size_t kBatch = 4096;

/// The limit: rows of `stride` bytes in one piece of huge-page memory, at known places. No ids, no
/// index, no optimizer; memory is fetched ahead as the store does it. Weights are `dim` floats at
/// the start of a row.
class PlainRows {
 public:
  /// `touched`: whether all of the memory has been written to already.
  PlainRows(std::int64_t rows, std::size_t stride, std::int64_t dim, bool touched = true);
  ~PlainRows();
  PlainRows(const PlainRows&) = delete;
  PlainRows& operator=(const PlainRows&) = delete;

  /// out [n, dim] = rows.
  void gather(std::span<const std::uint32_t> places, float* out) const;
  /// rows += values [n, dim].
  void add(std::span<const std::uint32_t> places, const float* values);
  /// rows = values [n, dim].
  void write(std::span<const std::uint32_t> places, const float* values);

  std::int64_t rows() const noexcept { return rows_; }
  std::size_t stride() const noexcept { return stride_; }

 private:
  template <class Visit>
  void visit(std::span<const std::uint32_t> places, Visit&& visit) const;

  std::int64_t rows_;
  std::size_t stride_;
  std::size_t dim_;
  std::size_t bytes_;
  std::byte* memory_;
};

/// A table of `rows` rows with the ids 0 ... rows - 1, and a plain memory with as many.
struct Workload {
  Workload(std::int64_t dim, std::int64_t rows, config::Optimizer optimizer);

  /// Ids or places of kBatch distinct rows, at random; the same after a reset of `random`.
  void draw();

  config::TableConfig config;
  store::Table table;
  PlainRows plain;
  RandomSequence random{7, RandomStream::teacher};
  std::vector<FeatureId> ids;         ///< [kBatch] from draw
  std::vector<std::uint32_t> places;  ///< [kBatch] from draw, other rows than those of `ids`
  std::vector<float> values;          ///< [kBatch, dim]: results of lookups
  std::vector<float> gradients;       ///< [kBatch, dim]
};

config::TableConfig table_config(std::int64_t dim, config::Optimizer optimizer,
                                 std::int64_t capacity = 0);

/// Bytes of a row in its slab.
std::size_t row_stride(const config::TableConfig& config);

}  // namespace satrap::bench
