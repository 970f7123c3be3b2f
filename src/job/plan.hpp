#pragma once

#include <string>

#include "config/config.hpp"
#include "job/cast.hpp"
#include "job/run_directory.hpp"

namespace satrap::job {

/// What a run of `config` would do, for a person: roles by rank, tables, model, and the memory that
/// each rank will need, with what cannot be known beforehand said so.
std::string plan(const config::Config& config, const Cast& cast, const Start& start);

}  // namespace satrap::job
