#pragma once

#include <cstdint>

#include "config/config.hpp"

namespace satrap::job {

/// What one of `servers` holds of a table: its part of the capacity, rounded up; without eviction
/// with some room for uneven parts.
config::TableConfig shard_of(config::TableConfig table, std::int64_t servers);

/// Whether every server can have the shards of all tables, and each of these the rows that fall to
/// it when a batch of `samples` is trained; 0: none is. Throws ConfigError.
void check_shards(const config::Config& config, std::int64_t samples);

}  // namespace satrap::job
