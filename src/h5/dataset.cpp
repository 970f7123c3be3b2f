#include <fmt/format.h>

#include "core/error.hpp"
#include "h5/call.hpp"

namespace satrap::h5 {

namespace {

/// The dataset's number type, its space with rows [first, first + count) selected, and a space in
/// memory of their shape.
struct RowSelection {
  RowSelection(hid_t dataset, std::int64_t first, std::int64_t count, std::size_t bytes)
      : type(check(H5Dget_type(dataset), "ask for the type", {}, dataset)),
        file(check(H5Dget_space(dataset), "ask for the shape", {}, dataset)) {
    Shape shape = space_shape(file.id());
    if (shape.empty() || first < 0 || count < 0 || first > shape[0] - count) {
      throw CheckpointError(fmt::format("rows {} to {} are outside of a dataset of {} rows", first,
                                        first + count, shape.empty() ? 0 : shape[0]));
    }
    shape[0] = count;
    elements = element_count(shape);
    const std::size_t expected = static_cast<std::size_t>(elements) * H5Tget_size(type.id());
    if (bytes != expected) {
      throw CheckpointError(fmt::format("{} rows of a dataset have {} bytes", count, expected),
                            fmt::format("{} were expected", bytes));
    }
    if (elements == 0) return;
    std::vector<hsize_t> start(shape.size(), 0);
    start[0] = static_cast<hsize_t>(first);
    const std::vector<hsize_t> extents(shape.begin(), shape.end());
    check(H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                              nullptr),
          "select rows", {}, dataset);
    memory = make_space(shape);
  }

  Handle type;
  Handle file;
  Handle memory;
  std::int64_t elements = 0;
};

void check_size(const Dataset& dataset, std::size_t given) {
  const auto elements = element_count(dataset.shape());
  if (static_cast<std::size_t>(elements) != given) {
    throw InternalError(fmt::format("{} values given for a dataset of {}", given, elements));
  }
}

}  // namespace

Shape Dataset::shape() const {
  const Handle space(check(H5Dget_space(handle_.id()), "ask for the shape", {}, handle_.id()));
  return space_shape(space.id());
}

template <class T>
void Dataset::read(std::span<T> out) const {
  check_size(*this, out.size());
  if (out.empty()) return;
  check(H5Dread(handle_.id(), memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()), "read",
        {}, handle_.id());
}

template <class T>
std::vector<T> Dataset::read() const {
  std::vector<T> values(static_cast<std::size_t>(element_count(shape())));
  read(std::span(values));
  return values;
}

void Dataset::read_rows(std::int64_t first, std::int64_t count, std::span<std::byte> out) const {
  const RowSelection rows(handle_.id(), first, count, out.size());
  if (rows.elements == 0) return;
  check(H5Dread(handle_.id(), rows.type.id(), rows.memory.id(), rows.file.id(), H5P_DEFAULT,
                out.data()),
        "read rows", {}, handle_.id());
}

template <class T>
void Dataset::write(std::span<const T> values) {
  check_size(*this, values.size());
  if (values.empty()) return;
  check(H5Dwrite(handle_.id(), memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
        "write", {}, handle_.id());
}

void Dataset::write_rows(std::int64_t first, std::int64_t count,
                         std::span<const std::byte> values) {
  const RowSelection rows(handle_.id(), first, count, values.size());
  if (rows.elements == 0) return;
  check(H5Dwrite(handle_.id(), rows.type.id(), rows.memory.id(), rows.file.id(), H5P_DEFAULT,
                 values.data()),
        "write rows", {}, handle_.id());
}

std::pair<std::int64_t, std::int64_t> Dataset::extent() const {
  const auto bytes = static_cast<std::int64_t>(H5Dget_storage_size(handle_.id()));
  if (bytes == 0) return {0, 0};
  const haddr_t offset = H5Dget_offset(handle_.id());
  if (offset == HADDR_UNDEF) fail("find the storage", {}, handle_.id());
  return {static_cast<std::int64_t>(offset), bytes};
}

#define SATRAP_DATASET_OF(T)                       \
  template void Dataset::read(std::span<T>) const; \
  template std::vector<T> Dataset::read() const;   \
  template void Dataset::write(std::span<const T>)
SATRAP_DATASET_OF(float);
SATRAP_DATASET_OF(double);
SATRAP_DATASET_OF(std::uint64_t);
SATRAP_DATASET_OF(std::uint32_t);
SATRAP_DATASET_OF(std::uint16_t);
SATRAP_DATASET_OF(std::int64_t);
#undef SATRAP_DATASET_OF

}  // namespace satrap::h5
