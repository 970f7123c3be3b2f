#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/types.hpp"

namespace satrap {

/// A bijective, well-mixed 64-bit hash of an integer (the MurmurHash3 finaliser, Appleby 2011).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

/// XXH3 of a byte string. The values are part of the data format (text categories become ids this
/// way) and of checkpoints (checksums), so they never change.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0) noexcept;

/// XXH3 over pieces that arrive one after the other; equal to hash_bytes of their concatenation.
class StreamHash {
 public:
  StreamHash();
  ~StreamHash();
  StreamHash(const StreamHash&) = delete;
  StreamHash& operator=(const StreamHash&) = delete;

  void update(std::span<const std::byte> bytes);
  std::uint64_t digest() const;

 private:
  void* state_;
};

/// Who owns a row: (table, id) hashes to one of `virtual_shards`; each server owns a contiguous
/// range of them. Part of the checkpoint format: rows are grouped by virtual shard.
///
///     virtual shard   0 ........ V/S-1 | V/S ...... 2V/S-1 | ...        (S servers, V shards)
///     server                0          |         1         | ...
class RowPlacement {
 public:
  RowPlacement(std::uint32_t virtual_shards, std::int32_t servers);

  static std::uint32_t shard_of(TableId table, FeatureId id,
                                std::uint32_t virtual_shards) noexcept {
    // The upper half of a multiply maps a hash to [0, virtual_shards) without a division. The
    // store's index mixes the id alone, so that the ids of one shard are still spread over its
    // index.
    const std::uint64_t hash = mix(raw(id) ^ (0x9e3779b97f4a7c15ULL * (raw(table) + 1ULL)));
    return static_cast<std::uint32_t>((hash >> 32) * virtual_shards >> 32);
  }

  std::uint32_t shard_of(TableId table, FeatureId id) const noexcept {
    return shard_of(table, id, virtual_shards_);
  }
  ServerId server_of(TableId table, FeatureId id) const noexcept {
    return server_of_shard(shard_of(table, id));
  }
  ServerId server_of_shard(std::uint32_t shard) const noexcept {
    return ServerId{static_cast<std::int32_t>(static_cast<std::uint64_t>(shard) *
                                              static_cast<std::uint64_t>(servers_) /
                                              virtual_shards_)};
  }
  /// The first virtual shard of `server`; that of server + 1 ends its range.
  std::uint32_t first_shard(ServerId server) const noexcept;

  std::uint32_t virtual_shards() const noexcept { return virtual_shards_; }
  std::int32_t servers() const noexcept { return servers_; }

 private:
  std::uint32_t virtual_shards_;
  std::int32_t servers_;
};

}  // namespace satrap
