#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "h5/call.hpp"

namespace satrap::h5 {

namespace {

herr_t note_name(hid_t, const char* name, const H5A_info_t*, void* names) noexcept {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  } catch (...) {
    return -1;
  }
  return 0;
}

Handle variable_string_type() {
  Handle type(check(H5Tcopy(H5T_C_S1), "make a string type", {}, -1));
  check(H5Tset_size(type.id(), H5T_VARIABLE), "make a string type", {}, -1);
  check(H5Tset_cset(type.id(), H5T_CSET_UTF8), "make a string type", {}, -1);
  return type;
}

/// An attribute that is being read.
struct OpenAttribute {
  OpenAttribute(hid_t object, const std::string& name)
      : handle(check(H5Aopen(object, name.c_str(), H5P_DEFAULT), "open attribute", name, object)),
        type(check(H5Aget_type(handle.id()), "ask for the type of attribute", name, object)),
        space(check(H5Aget_space(handle.id()), "ask for the shape of attribute", name, object)),
        count(static_cast<std::size_t>(element_count(space_shape(space.id())))) {}

  H5T_class_t kind() const { return H5Tget_class(type.id()); }

  Handle handle;
  Handle type;
  Handle space;
  std::size_t count;
};

template <class T>
std::vector<T> read_values(hid_t object, const std::string& name, const OpenAttribute& attribute) {
  const auto kind = attribute.kind();
  if (kind != H5T_INTEGER && !(kind == H5T_FLOAT && std::is_floating_point_v<T>)) {
    throw CheckpointError(fmt::format("attribute {} is not of the expected type", name),
                          kind == H5T_FLOAT ? "a float, not an integer" : "not a number");
  }
  std::vector<T> values(attribute.count);
  if (values.empty()) return values;
  check(H5Aread(attribute.handle.id(), memory_type<T>(), values.data()), "read attribute", name,
        object);
  return values;
}

/// Reads strings of variable length; HDF5 allocates them.
std::vector<std::string> read_variable_strings(hid_t object, const std::string& name,
                                               const OpenAttribute& attribute) {
  std::vector<char*> pointers(attribute.count);
  check(H5Aread(attribute.handle.id(), attribute.type.id(), pointers.data()), "read attribute",
        name, object);
  std::vector<std::string> values;
  for (const char* text : pointers) values.emplace_back(text == nullptr ? "" : text);
  check(H5Dvlen_reclaim(attribute.type.id(), attribute.space.id(), H5P_DEFAULT, pointers.data()),
        "read attribute", name, object);
  return values;
}

std::vector<std::string> read_fixed_strings(hid_t object, const std::string& name,
                                            const OpenAttribute& attribute) {
  const std::size_t size = H5Tget_size(attribute.type.id());
  const bool spaces = H5Tget_strpad(attribute.type.id()) == H5T_STR_SPACEPAD;
  std::string all(attribute.count * size, '\0');
  check(H5Aread(attribute.handle.id(), attribute.type.id(), all.data()), "read attribute", name,
        object);
  std::vector<std::string> values;
  for (std::size_t i = 0; i < attribute.count; ++i) {
    std::string text = all.substr(i * size, size);
    const auto end = spaces ? text.find_last_not_of(' ') + 1 : text.find('\0');
    if (end < text.size()) text.resize(end);
    values.push_back(std::move(text));
  }
  return values;
}

template <>
std::vector<std::string> read_values<std::string>(hid_t object, const std::string& name,
                                                  const OpenAttribute& attribute) {
  if (attribute.kind() != H5T_STRING) {
    throw CheckpointError(fmt::format("attribute {} is not of the expected type", name),
                          "not a string");
  }
  if (attribute.count == 0) return {};
  const bool variable =
      check(H5Tis_variable_str(attribute.type.id()), "read attribute", name, object) > 0;
  return variable ? read_variable_strings(object, name, attribute)
                  : read_fixed_strings(object, name, attribute);
}

void write_raw(hid_t object, const std::string& name, const Shape& shape, hid_t stored,
               hid_t in_memory, const void* values) {
  const Handle space = make_space(shape);
  const Handle attribute(
      check(H5Acreate2(object, name.c_str(), stored, space.id(), H5P_DEFAULT, H5P_DEFAULT),
            "make attribute", name, object));
  if (element_count(shape) == 0) return;
  check(H5Awrite(attribute.id(), in_memory, values), "write attribute", name, object);
}

template <class T>
void write_values(hid_t object, const std::string& name, const Shape& shape, const T* values) {
  write_raw(object, name, shape, file_type<T>(), memory_type<T>(), values);
}

template <>
void write_values<std::string>(hid_t object, const std::string& name, const Shape& shape,
                               const std::string* values) {
  std::vector<const char*> pointers;
  for (std::int64_t i = 0; i < element_count(shape); ++i) pointers.push_back(values[i].c_str());
  const Handle type = variable_string_type();
  write_raw(object, name, shape, type.id(), type.id(), pointers.data());
}

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

}  // namespace

bool Object::has_attribute(const std::string& name) const {
  return check(H5Aexists(handle_.id(), name.c_str()), "look for attribute", name, handle_.id()) > 0;
}

std::vector<std::string> Object::attributes() const {
  std::vector<std::string> names;
  check(H5Aiterate2(handle_.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, note_name, &names),
        "list the attributes", {}, handle_.id());
  return names;
}

template <class T>
T Object::attribute(const std::string& name) const {
  const OpenAttribute attribute(handle_.id(), name);
  if constexpr (kIsVector<T>) {
    return read_values<typename T::value_type>(handle_.id(), name, attribute);
  } else {
    auto values = read_values<T>(handle_.id(), name, attribute);
    if (values.size() != 1) {
      throw CheckpointError(fmt::format("attribute {} is not of the expected shape", name),
                            fmt::format("{} values instead of one", values.size()));
    }
    return std::move(values.front());
  }
}

template <class T>
void Object::set_attribute(const std::string& name, const T& value) {
  if constexpr (kIsVector<T>) {
    write_values(handle_.id(), name, {static_cast<std::int64_t>(value.size())}, value.data());
  } else {
    write_values(handle_.id(), name, {}, &value);
  }
}

#define SATRAP_ATTRIBUTE_OF(...)                                         \
  template __VA_ARGS__ Object::attribute(const std::string& name) const; \
  template void Object::set_attribute(const std::string& name, const __VA_ARGS__& value)
SATRAP_ATTRIBUTE_OF(std::int64_t);
SATRAP_ATTRIBUTE_OF(std::uint64_t);
SATRAP_ATTRIBUTE_OF(double);
SATRAP_ATTRIBUTE_OF(std::string);
SATRAP_ATTRIBUTE_OF(std::vector<std::int64_t>);
SATRAP_ATTRIBUTE_OF(std::vector<double>);
SATRAP_ATTRIBUTE_OF(std::vector<std::string>);
#undef SATRAP_ATTRIBUTE_OF

}  // namespace satrap::h5
