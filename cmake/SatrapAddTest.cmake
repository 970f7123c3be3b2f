# The target unit_tests builds all tests of the kind unit.
add_custom_target(unit_tests)

# satrap_add_test(SOURCES <file>... [LINK <target>...] [RANKS <n>...] [LABELS <label>...]
#                 [TIMEOUT <seconds>] [NAME <name>] [ENVIRONMENT <VAR=value>...])
#
# Builds one GoogleTest program from SOURCES and registers it with CTest, named after the folder below
# tests/ and the first source: tests/unit/store/table_test.cpp is unit.store.table. The first part of
# that name (unit, mpi, system, cluster) is always a label.
#
# RANKS  registers the program once per n under mpirun, as <name>.<n>, with the label ranks<n>; its main
#        is tests/support/mpi_main.cpp. Without RANKS the program runs alone. 1 to 16.
# TIMEOUT is in seconds, 60 by default; every test has one.
# LABELS long keeps a test out of the default run (ctest --preset release).
function(satrap_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TIMEOUT;NAME" "SOURCES;LINK;RANKS;LABELS;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "satrap_add_test: SOURCES missing or unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "." prefix ${folder})
  string(REGEX MATCH "^[a-z]+" kind ${prefix})
  if(NOT arg_NAME)
    list(GET arg_SOURCES 0 first)
    get_filename_component(arg_NAME ${first} NAME_WE)
    string(REGEX REPLACE "_test$" "" arg_NAME ${arg_NAME})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  set(test ${prefix}.${arg_NAME})

  add_executable(${test} ${arg_SOURCES})
  target_link_libraries(${test} PRIVATE satrap::compiler ${arg_LINK} GTest::gtest GTest::gmock)
  target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  # GoogleTest's macros take long to optimise, and no test is held up by its own code.
  target_compile_options(${test} PRIVATE $<$<CONFIG:Release>:-Og>)
  if(kind STREQUAL unit)
    add_dependencies(unit_tests ${test})
  endif()
  set(environment "SATRAP_GOLDEN_DEFAULT=${PROJECT_SOURCE_DIR}/../shared/golden"
    "SATRAP_DATA_DEFAULT=${PROJECT_SOURCE_DIR}/../shared/data"
    "SATRAP_SOURCE=${PROJECT_SOURCE_DIR}" "SATRAP_BIN=${PROJECT_BINARY_DIR}/bin"
    "OMPI_ALLOW_RUN_AS_ROOT=1" "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    "SATRAP_TEST_TIMEOUT=${arg_TIMEOUT}" ${arg_ENVIRONMENT})

  if(arg_RANKS)
    target_link_libraries(${test} PRIVATE satrap_mpi_main)
    foreach(ranks ${arg_RANKS})
      if(ranks LESS 1 OR ranks GREATER 16)
        message(FATAL_ERROR "satrap_add_test(${test}): RANKS ${ranks} is not in 1..16")
      endif()
      add_test(NAME ${test}.${ranks} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
        --oversubscribe --bind-to none $<TARGET_FILE:${test}>)
      set_tests_properties(${test}.${ranks} PROPERTIES TIMEOUT ${arg_TIMEOUT} PROCESSORS 2
        LABELS "${kind};ranks${ranks};${arg_LABELS}"
        ENVIRONMENT "${environment}")
    endforeach()
  else()
    target_link_libraries(${test} PRIVATE GTest::gtest_main)
    add_test(NAME ${test} COMMAND ${test})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${kind};${arg_LABELS}"
      ENVIRONMENT "${environment}")
  endif()
endfunction()
