#include "h5/call.hpp"

#include <fmt/format.h>

#include <string>

#include "core/error.hpp"

namespace satrap::h5 {

namespace {

/// The first and the last entry of HDF5's error stack: what was wanted, and the innermost cause.
struct ErrorEnds {
  std::string wanted;
  std::string cause;
};

herr_t note_entry(unsigned, const H5E_error2_t* entry, void* data) noexcept {
  auto& ends = *static_cast<ErrorEnds*>(data);
  auto& text = ends.wanted.empty() ? ends.wanted : ends.cause;
  try {
    text = entry->desc == nullptr ? "" : entry->desc;
  } catch (...) {
    return -1;
  }
  return 0;
}

std::string error_text() {
  ErrorEnds ends;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, note_entry, &ends);
  std::string text = "HDF5: " + ends.wanted;
  if (!ends.cause.empty()) text += ": " + ends.cause;
  std::erase(text, '\n');  // its time stamps end in one
  return text;
}

template <class GetName>
std::string name_from(GetName get_name) {
  std::string name(1024, '\0');
  const ssize_t length = get_name(name.data(), name.size());
  name.resize(length < 0 ? 0 : std::min(static_cast<std::size_t>(length), name.size() - 1));
  return name;
}

}  // namespace

void fail(std::string_view action, std::string_view name, hid_t object) {
  const std::string why = error_text();  // before other calls replace the stack
  std::string problem = fmt::format("cannot {}", action);
  if (!name.empty()) problem += fmt::format(" {}", name);
  if (object >= 0) {
    const auto place =
        name_from([&](char* out, std::size_t n) { return H5Iget_name(object, out, n); });
    const auto file =
        name_from([&](char* out, std::size_t n) { return H5Fget_name(object, out, n); });
    if (place.size() > 1) problem += fmt::format(" in {}", place);
    if (!file.empty()) problem += fmt::format(" of {}", file);
  }
  throw CheckpointError(problem, why);
}

template <>
hid_t memory_type<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
hid_t memory_type<double>() {
  return H5T_NATIVE_DOUBLE;
}
template <>
hid_t memory_type<std::uint64_t>() {
  return H5T_NATIVE_UINT64;
}
template <>
hid_t memory_type<std::uint32_t>() {
  return H5T_NATIVE_UINT32;
}
template <>
hid_t memory_type<std::uint16_t>() {
  return H5T_NATIVE_UINT16;
}
template <>
hid_t memory_type<std::int64_t>() {
  return H5T_NATIVE_INT64;
}

template <>
hid_t file_type<float>() {
  return H5T_IEEE_F32LE;
}
template <>
hid_t file_type<double>() {
  return H5T_IEEE_F64LE;
}
template <>
hid_t file_type<std::uint64_t>() {
  return H5T_STD_U64LE;
}
template <>
hid_t file_type<std::uint32_t>() {
  return H5T_STD_U32LE;
}
template <>
hid_t file_type<std::uint16_t>() {
  return H5T_STD_U16LE;
}
template <>
hid_t file_type<std::int64_t>() {
  return H5T_STD_I64LE;
}

namespace {

/// HDF5 has no name for IEEE's half: sign 1, exponent 5, mantissa 10 bits.
Handle half_type() {
  const auto done = [](herr_t result) { check(result, "make a type", "float16", -1); };
  Handle type(check(H5Tcopy(H5T_IEEE_F32LE), "make a type", "float16", -1));
  done(H5Tset_fields(type.id(), 15, 10, 5, 0, 10));
  done(H5Tset_size(type.id(), 2));
  done(H5Tset_ebias(type.id(), 15));
  return type;
}

}  // namespace

Handle file_type(Number number) {
  const auto copy = [](hid_t type) { return Handle(check(H5Tcopy(type), "copy a type", {}, -1)); };
  switch (number) {
    case Number::float32:
      return copy(H5T_IEEE_F32LE);
    case Number::float16:
      return half_type();
    case Number::int8:
      return copy(H5T_STD_I8LE);
    case Number::uint16:
      return copy(H5T_STD_U16LE);
    case Number::uint32:
      return copy(H5T_STD_U32LE);
    case Number::uint64:
      return copy(H5T_STD_U64LE);
  }
  throw InternalError("a number has no HDF5 type");
}

Handle make_space(const Shape& shape) {
  if (shape.empty()) return Handle(check(H5Screate(H5S_SCALAR), "make a data space", {}, -1));
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return Handle(check(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                      "make a data space", {}, -1));
}

Shape space_shape(hid_t space) {
  const int rank = check(H5Sget_simple_extent_ndims(space), "ask for the rank", {}, -1);
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  check(H5Sget_simple_extent_dims(space, extents.data(), nullptr), "ask for the shape", {}, -1);
  return Shape(extents.begin(), extents.end());
}

}  // namespace satrap::h5
