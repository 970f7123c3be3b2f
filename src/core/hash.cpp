#include "core/hash.hpp"

#include <xxhash.h>

#include <new>

#include "core/error.hpp"

namespace satrap {

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

StreamHash::StreamHash() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state_));
}

StreamHash::~StreamHash() {
  XXH3_freeState(static_cast<XXH3_state_t*>(state_));
}

void StreamHash::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}

std::uint64_t StreamHash::digest() const {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state_));
}

RowPlacement::RowPlacement(std::uint32_t virtual_shards, std::int32_t servers)
    : virtual_shards_(virtual_shards), servers_(servers) {
  if (servers < 1 || virtual_shards < static_cast<std::uint32_t>(servers)) {
    throw ConfigError(
        fmt::format("{} servers cannot share {} virtual shards", servers, virtual_shards),
        "every server owns at least one virtual shard",
        "raise checkpoint.virtual_shards or use fewer servers");
  }
}

std::uint32_t RowPlacement::first_shard(ServerId server) const noexcept {
  // The smallest shard s with s * servers / virtual_shards >= server.
  const auto numerator = static_cast<std::uint64_t>(raw(server)) * virtual_shards_;
  const auto servers = static_cast<std::uint64_t>(servers_);
  return static_cast<std::uint32_t>((numerator + servers - 1) / servers);
}

}  // namespace satrap
