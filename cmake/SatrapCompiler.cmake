# One interface target that every target of the project links: warnings, instruction set, sanitizers.
add_library(satrap_compiler INTERFACE)
add_library(satrap::compiler ALIAS satrap_compiler)

target_compile_options(satrap_compiler INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror -march=${SATRAP_ARCH})
target_include_directories(satrap_compiler INTERFACE ${PROJECT_SOURCE_DIR}/src)

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  # At -O3 GCC 12 reports these inside its own std::optional, std::vector and std::string (GCC bugs
  # 105562, 105329, 107852); the sanitizer build finds the real ones.
  target_compile_options(satrap_compiler INTERFACE
    -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow)
endif()

if(SATRAP_SANITIZE)
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(satrap_compiler INTERFACE ${sanitize} -Og -g1)
  target_link_options(satrap_compiler INTERFACE ${sanitize})
endif()

if(SATRAP_FUZZ)
  target_compile_options(satrap_compiler INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
