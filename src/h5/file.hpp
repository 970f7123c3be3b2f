#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace satrap::h5 {

// A thin layer over HDF5, and the only place that knows its header. Every call is checked: a
// failure throws CheckpointError with the object, the file and HDF5's own words. HDF5 has global
// state, so that one thread of the process at a time may use this part.

/// Extents, slowest first. Empty: a scalar.
using Shape = std::vector<std::int64_t>;

/// What the elements of a dataset are, little-endian; float16 is IEEE's half.
enum class Number { float32, float16, int8, uint16, uint32, uint64 };
/// Bytes of one element.
std::size_t bytes_of(Number number) noexcept;

/// The number of elements of an array of that shape.
std::int64_t element_count(const Shape& shape) noexcept;

/// Owns one HDF5 id of any kind. Move-only.
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(std::int64_t id) noexcept : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, kNone)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle();

  std::int64_t id() const noexcept { return id_; }
  /// Gives the id up without closing it.
  std::int64_t release() noexcept { return std::exchange(id_, kNone); }

 private:
  static constexpr std::int64_t kNone = -1;
  std::int64_t id_ = kNone;
};

/// What groups and datasets have in common: attributes.
class Object {
 public:
  bool has_attribute(const std::string& name) const;
  /// The names of all attributes, in name order.
  std::vector<std::string> attributes() const;

  /// T: std::int64_t, std::uint64_t, double, std::string, or a std::vector of std::int64_t, double
  /// or std::string (a scalar reads as a vector of one). Integers read as double; a float does not
  /// read as an integer. Strings may be stored with fixed or variable length.
  template <class T>
  T attribute(const std::string& name) const;

  /// Makes an attribute that does not exist yet. T as above. Strings are stored as h5py does:
  /// variable length, UTF-8.
  template <class T>
  void set_attribute(const std::string& name, const T& value);
  void set_attribute(const std::string& name, const char* value) {
    set_attribute(name, std::string(value));
  }

 protected:
  explicit Object(Handle handle) noexcept : handle_(std::move(handle)) {}

  Handle handle_;
};

/// An array. T of the members: float, double, std::uint64_t, std::uint32_t, std::uint16_t or
/// std::int64_t; where the file has another number type, HDF5 converts. Rows are indices of the
/// first dimension.
class Dataset : public Object {
 public:
  Shape shape() const;

  /// The whole array.
  template <class T>
  std::vector<T> read() const;
  /// The whole array into `out`, which has its size.
  template <class T>
  void read(std::span<T> out) const;
  /// Rows [first, first + count) into `out` [count, ...], as they are in the file. Throws
  /// CheckpointError if they have another size.
  void read_rows(std::int64_t first, std::int64_t count, std::span<std::byte> out) const;

  template <class T>
  void write(std::span<const T> values);
  /// Rows [first, first + count) from `values` [count, ...], of the dataset's number type.
  void write_rows(std::int64_t first, std::int64_t count, std::span<const std::byte> values);

  /// Where the elements lie in the file: offset and length in bytes. Only of contiguous datasets;
  /// length 0 if there are none.
  std::pair<std::int64_t, std::int64_t> extent() const;

 private:
  friend class Group;
  using Object::Object;
};

/// A dataset of another file that supplies `rows` rows of a virtual dataset.
struct VirtualPart {
  std::string file;  ///< Relative to the folder of the file with the virtual dataset.
  std::string dataset;
  std::int64_t rows = 0;
};

/// A folder of groups and datasets. Names may be paths: "tables/0/ids".
class Group : public Object {
 public:
  bool has(const std::string& name) const;
  /// The names of all groups and datasets in it, in name order ("10" before "2").
  std::vector<std::string> children() const;
  bool is_group(const std::string& name) const;

  Group group(const std::string& name) const;
  Dataset dataset(const std::string& name) const;

  /// These make the groups on the way as well; the object itself must not exist yet.
  Group create_group(const std::string& name);
  /// Little-endian, contiguous, space reserved at once, not filled: the caller writes all of it.
  template <class T>
  Dataset create_dataset(const std::string& name, const Shape& shape);
  Dataset create_dataset(const std::string& name, Number number, const Shape& shape);
  /// Makes a dataset and writes it.
  template <class T>
  Dataset write_dataset(const std::string& name, const Shape& shape, std::span<const T> values) {
    auto dataset = create_dataset<T>(name, shape);
    dataset.write(values);
    return dataset;
  }
  /// A dataset whose rows are those of `parts`, one part after the other. All have the same number
  /// type and the row shape of `shape`; the parts' rows add up to shape[0].
  Dataset create_virtual(const std::string& name, Number number, const Shape& shape,
                         std::span<const VirtualPart> parts);
  /// Shows the object `target` of another file under `name`. `file` is relative to the folder of
  /// this one.
  void link(const std::string& name, const std::string& file, const std::string& target);

 protected:
  using Object::Object;
};

/// An HDF5 file, and its root group. Closes when it and all objects taken from it are gone.
class File : public Group {
 public:
  /// Makes the file, or replaces it. Holds no time stamps: equal content gives equal bytes.
  /// `metadata_bytes` are set aside in one piece for everything but the datasets' elements.
  static File create(const std::filesystem::path& path, std::int64_t metadata_bytes = 2048);
  /// Opens for reading.
  static File open(const std::filesystem::path& path);

  /// Writes out what is buffered and closes, so that errors are seen. Objects taken from the file
  /// must be gone.
  void close();

 private:
  using Group::Group;
};

}  // namespace satrap::h5
