#pragma once

#include <iosfwd>
#include <string_view>

#include "store/capacity/capacity_run.hpp"

namespace satrap::store {

/// "8G", "1.5T", "1e12" or a plain number, with K, M, G and T in powers of `base`. Throws
/// ConfigError that names `option`, also for what is not a whole number.
std::int64_t parse_amount(std::string_view option, std::string_view text, std::int64_t base);

/// Fills a table as run_capacity does and prints what it is and a line per stage to `out`; at the
/// end the memory that the store counts beside what the system counts. Progress of long fills goes
/// to `progress`. Throws as CapacityRun.
void report_capacity(const CapacityOptions& options, std::ostream& out, std::ostream& progress);

/// Fills a table of the same memory for each of kSweepParameters, one after the other, and prints
/// the throughput of each while it evicts, and the ratio of the last to the first.
void report_sweep(const CapacityOptions& options, std::ostream& out, std::ostream& progress);

}  // namespace satrap::store
