#pragma once

#include <cstdint>

namespace satrap::bench {

struct Options {
  std::int64_t bytes = std::int64_t{1} << 30;  ///< Of a table; as much of plain rows beside it.
  std::int64_t dim = 64;
  double seconds = 2;  ///< Per figure.
};

// Each prints some figures. Memory that one needs is free again before the next begins.

/// Lookup, evaluation lookup and update, beside plain rows; the same for the smaller storage types.
void compare_operations(const Options& options);
/// New ids, into a table that grows and into one that evicts, beside writes to plain rows.
void compare_inserts(const Options& options);
/// Bytes of full tables per row and per parameter.
void measure_memory(const Options& options);
/// The same table in the way of PERSIA.
void compare_peers(const Options& options);
/// Training while evicting, with ids of a space of 100 and of 6.25 trillion parameters.
void compare_id_spaces(const Options& options);

}  // namespace satrap::bench
