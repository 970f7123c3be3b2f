#pragma once

#include <cstdint>

#include "config/config.hpp"

namespace satrap::job {

/// What one of `servers` holds of a table: its part of the capacity, rounded up; without eviction
/// with some room for uneven parts.
config::TableConfig shard_of(config::TableConfig table, std::int64_t servers);

/// Whether every server can have the shards of all tables, and each of these the rows of one batch
/// that fall to it. Throws ConfigError.
void check_shards(const config::Config& config);

}  // namespace satrap::job
