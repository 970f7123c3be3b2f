# Every outside library, as Debian 12 packages it (scripts/install.sh lists the packages).
# A folder of src/ links only what its layer may know: mpi in comm, hdf5 in h5.
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
# dnnl's own CMake package insists on an OpenCL development kit; the library on a CPU needs none.
find_path(DNNL_INCLUDE_DIR dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(hdf5 REQUIRED IMPORTED_TARGET hdf5-serial)
find_path(RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)

add_library(satrap_dnnl INTERFACE)
target_include_directories(satrap_dnnl SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
target_link_libraries(satrap_dnnl INTERFACE ${DNNL_LIBRARY})
