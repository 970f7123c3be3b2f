#include <string>
#include <vector>

#include "h5/call.hpp"

namespace satrap::h5 {

namespace {

herr_t note_name(hid_t, const char* name, const H5L_info_t*, void* names) noexcept {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  } catch (...) {
    return -1;
  }
  return 0;
}

/// A property list for groups or datasets without time stamps: equal content gives equal bytes.
Handle make_list(hid_t kind) {
  Handle list(check(H5Pcreate(kind), "make a property list", {}, -1));
  check(H5Pset_obj_track_times(list.id(), false), "set a property", {}, -1);
  return list;
}

Handle make_group(hid_t group, const std::string& name) {
  const Handle properties = make_list(H5P_GROUP_CREATE);
  return Handle(check(H5Gcreate2(group, name.c_str(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                      "make group", name, group));
}

/// Makes the groups on the way to `name`. HDF5 would do so, but with time stamps.
void make_parents(hid_t group, const std::string& name) {
  for (auto end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
    const std::string parent = name.substr(0, end);
    if (check(H5Lexists(group, parent.c_str(), H5P_DEFAULT), "look for", parent, group) == 0) {
      make_group(group, parent);
    }
  }
}

Handle make_dataset(hid_t group, const std::string& name, hid_t type, const Shape& shape,
                    const Handle& properties) {
  make_parents(group, name);
  const Handle space = make_space(shape);
  return Handle(check(
      H5Dcreate2(group, name.c_str(), type, space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
      "make dataset", name, group));
}

Handle make_contiguous(hid_t group, const std::string& name, hid_t type, const Shape& shape) {
  const Handle properties = make_list(H5P_DATASET_CREATE);
  check(H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY), "set a property", name, group);
  check(H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER), "set a property", name, group);
  return make_dataset(group, name, type, shape, properties);
}

}  // namespace

bool Group::has(const std::string& name) const {
  // H5Lexists fails, and does not say no, where a group on the way is missing.
  for (std::size_t end = 0; end != std::string::npos;) {
    end = name.find('/', end + 1);
    const std::string part = name.substr(0, end);
    if (check(H5Lexists(handle_.id(), part.c_str(), H5P_DEFAULT), "look for", part, handle_.id()) ==
        0) {
      return false;
    }
  }
  return true;
}

std::vector<std::string> Group::children() const {
  std::vector<std::string> names;
  check(H5Literate(handle_.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, note_name, &names),
        "list the children", {}, handle_.id());
  return names;
}

bool Group::is_group(const std::string& name) const {
  const Handle object(
      check(H5Oopen(handle_.id(), name.c_str(), H5P_DEFAULT), "open", name, handle_.id()));
  return H5Iget_type(object.id()) == H5I_GROUP;
}

Group Group::group(const std::string& name) const {
  return Group(Handle(
      check(H5Gopen2(handle_.id(), name.c_str(), H5P_DEFAULT), "open group", name, handle_.id())));
}

Dataset Group::dataset(const std::string& name) const {
  return Dataset(Handle(check(H5Dopen2(handle_.id(), name.c_str(), H5P_DEFAULT), "open dataset",
                              name, handle_.id())));
}

Group Group::create_group(const std::string& name) {
  make_parents(handle_.id(), name);
  return Group(make_group(handle_.id(), name));
}

template <class T>
Dataset Group::create_dataset(const std::string& name, const Shape& shape) {
  return Dataset(make_contiguous(handle_.id(), name, file_type<T>(), shape));
}

Dataset Group::create_dataset(const std::string& name, Number number, const Shape& shape) {
  return Dataset(make_contiguous(handle_.id(), name, file_type(number).id(), shape));
}

Dataset Group::create_virtual(const std::string& name, Number number, const Shape& shape,
                              std::span<const VirtualPart> parts) {
  if (element_count(shape) == 0) return create_dataset(name, number, shape);
  const Handle properties = make_list(H5P_DATASET_CREATE);
  const Handle space = make_space(shape);
  std::vector<hsize_t> start(shape.size(), 0);
  for (const auto& part : parts) {
    if (part.rows == 0) continue;
    Shape part_shape = shape;
    part_shape[0] = part.rows;
    const std::vector<hsize_t> extents(part_shape.begin(), part_shape.end());
    check(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                              nullptr),
          "select rows of", name, handle_.id());
    const Handle source = make_space(part_shape);
    check(H5Pset_virtual(properties.id(), space.id(), part.file.c_str(), part.dataset.c_str(),
                         source.id()),
          "map rows of", name, handle_.id());
    start[0] += extents[0];
  }
  return Dataset(make_dataset(handle_.id(), name, file_type(number).id(), shape, properties));
}

void Group::link(const std::string& name, const std::string& file, const std::string& target) {
  check(H5Lcreate_external(file.c_str(), target.c_str(), handle_.id(), name.c_str(), H5P_DEFAULT,
                           H5P_DEFAULT),
        "make link", name, handle_.id());
}

#define SATRAP_GROUP_OF(T) \
  template Dataset Group::create_dataset<T>(const std::string& name, const Shape&)
SATRAP_GROUP_OF(float);
SATRAP_GROUP_OF(double);
SATRAP_GROUP_OF(std::uint64_t);
SATRAP_GROUP_OF(std::uint32_t);
SATRAP_GROUP_OF(std::uint16_t);
SATRAP_GROUP_OF(std::int64_t);
#undef SATRAP_GROUP_OF

}  // namespace satrap::h5
