#pragma once

#include <cstddef>
#include <cstdint>

#include "config/config.hpp"
#include "core/hash.hpp"

namespace satrap::data {

/// The rows of a table whose ids are sums of hashed rows: id x is rows row(x, 0) to row(x, r - 1),
/// each from a range of its own, so that they are different rows of the table.
///
///     row id   0 ......... m-1 | m ......... 2m-1 | ... | ......... rm-1     (m = hash_buckets)
///     chosen by    hash 0      |     hash 1       | ... |  hash r-1          (r = hash_rows)
///
/// Two ids have the same vector only if all r hashes agree, of which the probability is m^-r, with
/// the memory of r m rows. Immutable; thread-safe.
class HashStack {
 public:
  /// Of a table with hash_rows > 0 and hash_buckets > 0.
  HashStack(TableId table, const config::TableConfig& config)
      : salt_(mix(kSalt + raw(table))),
        rows_(static_cast<std::uint64_t>(config.hash_rows)),
        buckets_(static_cast<std::uint64_t>(config.hash_buckets)) {}

  std::size_t rows_per_id() const noexcept { return rows_; }

  /// Calls fn(row id) for row 0 to r - 1 of `id`. The hashes are a mixed Weyl sequence, as of
  /// SplitMix64 (Steele, Lea, Flood 2014), that starts at a hash of table and id. Part of the
  /// checkpoint format: they depend on neither job.seed nor the number of servers, so that a
  /// trained row belongs to the same ids whoever reads it.
  template <class Fn>
  void for_each_row(FeatureId id, Fn&& fn) const {
    std::uint64_t state = mix(raw(id) ^ salt_);
    for (std::uint64_t j = 0; j < rows_; ++j) {
      state += kGamma;
      fn(FeatureId{j * buckets_ + mix(state) % buckets_});
    }
  }

 private:
  // 2^64 over the golden ratio: the usual step of a Weyl sequence.
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15ULL;
  // Sets these hashes apart from those that place rows and index them; any number would do.
  static constexpr std::uint64_t kSalt = 0x6861736873746163ULL;

  std::uint64_t salt_;
  std::uint64_t rows_;     // r
  std::uint64_t buckets_;  // m
};

}  // namespace satrap::data
