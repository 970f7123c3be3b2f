#pragma once

#include <cstdint>
#include <type_traits>

namespace satrap {

/// The id of one category value, any 64-bit pattern; never truncated or reduced.
enum class FeatureId : std::uint64_t {};

/// Indices into the job's lists of tables and slots.
enum class TableId : std::uint32_t {};
enum class SlotId : std::uint32_t {};

/// Positions within one role, from 0: server 0 is the first embedding server, whatever its world
/// rank.
enum class ServerId : std::int32_t {};
enum class WorkerId : std::int32_t {};
enum class TrainerId : std::int32_t {};
enum class WorldRank : std::int32_t {};

/// Training steps, counted from 1; 0 is "before the first step".
using Step = std::int64_t;

/// The number behind an id.
template <class Id>
requires std::is_enum_v<Id>
constexpr std::underlying_type_t<Id> raw(Id id) noexcept {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace satrap
