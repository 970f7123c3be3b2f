#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace satrap::checkpoint {

/// The steps of the complete checkpoints under `root`, in the order of their writing; none without
/// a manifest. Throws CheckpointError if it is damaged.
std::vector<Step> read_manifest(const std::filesystem::path& root);

/// Replaces the manifest atomically.
void write_manifest(const std::filesystem::path& root, const std::vector<Step>& steps);

/// Whose directory holds the complete checkpoint of `step`: step-<N>, or step-<N>.old if the job
/// died while it was being replaced. Throws CheckpointError if neither is complete.
std::filesystem::path find_complete(const std::filesystem::path& root, Step step);

/// What to do without `checkpoint`, which is damaged: the remedy of an error message.
std::string remedy_without(const std::filesystem::path& checkpoint) noexcept;

}  // namespace satrap::checkpoint
