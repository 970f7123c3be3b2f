#pragma once

#include "config/config.hpp"
#include "config/resolve/origins.hpp"

namespace satrap::config {

// What must hold between keys. Each throws one ConfigError for the first fault.

/// Needs the plain sections. Those called complete_ also set what the keys leave open.
void complete_data(Config& config, const Origins& origins, Files files);
void complete_train(Config& config, const Origins& origins);
void complete_schedule(Config& config, const Origins& origins);

/// Needs slots and tables too.
void check_names(const Config& config, const Origins& origins);
void check_model(const Config& config, const Origins& origins);
void check_tables(const Config& config, const Origins& origins);
/// After check_tables().
void check_capacities(const Config& config, const Origins& origins);

}  // namespace satrap::config
