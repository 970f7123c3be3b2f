#pragma once

// Internal to src/h5.

#include <hdf5.h>

#include <cstdint>
#include <string_view>

#include "h5/file.hpp"

namespace satrap::h5 {

static_assert(sizeof(hid_t) == sizeof(std::int64_t));

/// Throws CheckpointError: "cannot <action> <name> in <object> of <file> (<HDF5's words>)".
[[noreturn]] void fail(std::string_view action, std::string_view name, hid_t object);

/// Passes the result of an HDF5 call on; negative ones are failures.
template <class Result>
Result check(Result result, std::string_view action, std::string_view name, hid_t object) {
  if (result < 0) fail(action, name, object);
  return result;
}

/// The HDF5 type of T in memory and, little-endian, in files.
template <class T>
hid_t memory_type();
template <class T>
hid_t file_type();
Handle file_type(Number number);

/// A data space of that shape.
Handle make_space(const Shape& shape);
Shape space_shape(hid_t space);

}  // namespace satrap::h5
