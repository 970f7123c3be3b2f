# One interface target that every target of the project links: warnings, instruction set, sanitizers.
add_library(satrap_compiler INTERFACE)
add_library(satrap::compiler ALIAS satrap_compiler)

target_compile_options(satrap_compiler INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror -march=${SATRAP_ARCH})
target_include_directories(satrap_compiler INTERFACE ${PROJECT_SOURCE_DIR}/src)

if(SATRAP_SANITIZE)
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # GCC's flow analysis takes the branches that the sanitizers insert for uninitialised uses.
  target_compile_options(satrap_compiler INTERFACE ${sanitize} -O1 -Wno-maybe-uninitialized)
  target_link_options(satrap_compiler INTERFACE ${sanitize})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
