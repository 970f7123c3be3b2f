#pragma once

// Names and layouts of docs/checkpoint-format.md, shared by writer and reader.

#include <bit>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "config/config.hpp"
#include "core/hash.hpp"
#include "core/types.hpp"
#include "h5/file.hpp"
#include "store/table.hpp"

namespace satrap::checkpoint {

inline constexpr std::int64_t kVersion = 1;
inline constexpr const char* kContentsFormat = "satrap-checkpoint";
inline constexpr const char* kManifestFormat = "satrap-manifest";

inline constexpr const char* kTopFile = "checkpoint.h5";
inline constexpr const char* kDenseFile = "dense.h5";
inline constexpr const char* kContentsFile = "contents.json";
inline constexpr const char* kManifestFile = "manifest.json";

std::string server_file(ServerId server);
/// <root>/step-<N>, and the name that it has while it is replaced by a new one.
std::filesystem::path step_directory(const std::filesystem::path& root, Step step);
std::filesystem::path replaced_directory(const std::filesystem::path& root, Step step);

/// The N of any of these and of temporary_directory. Throws CheckpointError for other paths.
Step step_of(const std::filesystem::path& directory);

/// The attributes that every HDF5 file of a checkpoint has: format, version, step, and the part it
/// is: "top", "server" or "dense".
void write_file_attributes(h5::File& file, const char* part, Step step);

/// The attributes of a table's group.
struct TableLayout {
  std::string name;
  std::int64_t table = 0;  ///< TableId: part of the hash that gives a row its virtual shard.
  std::string optimizer;
  std::int64_t dim = 0;
  std::int64_t state_floats = 0;
  std::int64_t hash_rows = 0;  ///< As in the config: they say which rows an id is.
  std::int64_t hash_buckets = 0;
  std::int64_t rows = 0;
  std::int64_t block_rows = 0;  ///< Rows per checksum.

  std::int64_t blocks() const noexcept { return (rows + block_rows - 1) / block_rows; }
  std::int64_t row_bytes() const noexcept;

  friend bool operator==(const TableLayout&, const TableLayout&) = default;
};

TableLayout layout_of(const store::Table& table, TableId id);
void write_layout(h5::Group& group, const TableLayout& layout);
TableLayout read_layout(const h5::Group& group);

/// Sizes every column of `block` for `rows` rows.
void resize(store::RowBlock& block, const TableLayout& layout, std::int64_t rows);

inline constexpr std::size_t kColumns = 5;

/// The five datasets that hold a table's rows, one entry per row each.
struct Columns {
  h5::Dataset ids;      ///< [rows] uint64
  h5::Dataset weights;  ///< [rows, dim] float
  h5::Dataset state;    ///< [rows, state_floats] float
  h5::Dataset updates;  ///< [rows] uint32
  h5::Dataset touched;  ///< [rows] uint32

  static Columns create(h5::Group& group, const TableLayout& layout);
  static Columns open(const h5::Group& group);
};

/// Calls visit(dataset, values) for each column, in the order above.
template <class Visit>
void for_each_column(Columns& columns, store::RowBlock& block, Visit&& visit) {
  // The ids are only ever moved as bytes behind this pointer.
  static_assert(sizeof(FeatureId) == sizeof(std::uint64_t));
  visit(columns.ids,
        std::span(reinterpret_cast<std::uint64_t*>(block.ids.data()), block.ids.size()));
  visit(columns.weights, std::span(block.weights));
  visit(columns.state, std::span(block.state));
  visit(columns.updates, std::span(block.updates));
  visit(columns.touched, std::span(block.touched));
}

/// The checksum of one column of one block: XXH3 of its bytes in the file.
template <class T>
std::uint64_t block_checksum(std::span<T> values) {
  static_assert(std::endian::native == std::endian::little);
  const auto bytes = std::as_bytes(values);
  return hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace satrap::checkpoint
