#include "h5/file.hpp"

#include <functional>
#include <numeric>

#include "core/error.hpp"
#include "h5/call.hpp"

namespace satrap::h5 {

namespace {

/// Before the first use of HDF5: failures are thrown, so it must not print them as well; and
/// files are closed by us, so it must not try at exit, where it crashes on files that a full disk
/// has kept it from closing.
void prepare() {
  [[maybe_unused]] static const herr_t no_exit_handler = H5dont_atexit();
  check(H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr), "silence HDF5", {}, -1);
}

Handle access_properties() {
  Handle list(check(H5Pcreate(H5P_FILE_ACCESS), "make a property list", {}, -1));
  // Object headers with checksums, and virtual datasets.
  check(H5Pset_libver_bounds(list.id(), H5F_LIBVER_V110, H5F_LIBVER_V110), "set a property", {},
        -1);
  // Files are published by renaming; locks only fail on file systems that have none.
  check(H5Pset_file_locking(list.id(), false, true), "set a property", {}, -1);
  return list;
}

}  // namespace

std::size_t bytes_of(Number number) noexcept {
  switch (number) {
    case Number::int8:
      return 1;
    case Number::float16:
    case Number::uint16:
      return 2;
    case Number::float32:
    case Number::uint32:
      return 4;
    case Number::uint64:
      return 8;
  }
  return 0;
}

std::int64_t element_count(const Shape& shape) noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Handle::~Handle() {
  // What was written is checked in File::close; nothing else can fail in a way that matters.
  if (id_ != kNone) H5Idec_ref(id_);
}

File File::create(const std::filesystem::path& path, std::int64_t metadata_bytes) {
  prepare();
  const Handle access = access_properties();
  check(H5Pset_meta_block_size(access.id(), static_cast<hsize_t>(metadata_bytes)), "set a property",
        {}, -1);
  const Handle root(check(H5Pcreate(H5P_FILE_CREATE), "make a property list", {}, -1));
  check(H5Pset_obj_track_times(root.id(), false), "set a property", {}, -1);
  return File(Handle(check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, root.id(), access.id()),
                           "make file", path.string(), -1)));
}

File File::open(const std::filesystem::path& path) {
  prepare();
  const Handle access = access_properties();
  return File(Handle(
      check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), "open file", path.string(), -1)));
}

void File::close() {
  check(H5Fflush(handle_.id(), H5F_SCOPE_LOCAL), "write out", {}, handle_.id());
  check(H5Fclose(handle_.id()), "close", {}, handle_.id());
  handle_.release();
}

}  // namespace satrap::h5
