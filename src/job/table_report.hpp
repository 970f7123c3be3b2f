#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "store/statistics.hpp"

namespace satrap::job {

// The statistics of tables as people and programs read them.

/// Of all tables together.
store::TableStatistics sum_of(std::span<const store::TableStatistics> tables);

/// The share of looked-up ids that had a row; nothing before the first lookup.
std::optional<double> hit_rate(const store::TableStatistics& table);

/// The share of the gradients between two states of a table whose rows were evicted before they
/// came. Those of ids that were not admitted are none of them.
double evicted_share(const store::TableStatistics& before, const store::TableStatistics& now);

/// Every field, with `bytes`, `load` and `mean_probe` from them (null where undefined).
nlohmann::json to_json(const store::TableStatistics& table);

/// Several lines of the summary, each with its heading; those of training only after some.
std::string to_text(std::span<const store::TableStatistics> tables);

}  // namespace satrap::job
