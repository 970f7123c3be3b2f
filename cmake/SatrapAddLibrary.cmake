# satrap_add_library(NAME SOURCES <file>... [PUBLIC <target>...] [PRIVATE <target>...])
#
# Adds the static library satrap_NAME with the alias satrap::NAME. Headers are included by their path
# below src/. PUBLIC are the libraries whose headers appear in NAME's headers.
function(satrap_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "satrap_add_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(satrap_${name} STATIC ${arg_SOURCES})
  add_library(satrap::${name} ALIAS satrap_${name})
  target_link_libraries(satrap_${name}
    PUBLIC satrap::compiler ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE})
endfunction()
