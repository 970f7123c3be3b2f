# cmake -DCOMMAND=<list> -DCODE=<exit code> -DOUTPUT=<regular expression> -P expect_ending.cmake
# Runs COMMAND and fails unless it ends with CODE and all that it prints matches OUTPUT.
execute_process(COMMAND ${COMMAND} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT code EQUAL CODE OR NOT output MATCHES "^${OUTPUT}$")
  message(FATAL_ERROR "exit code ${code}, not ${CODE}, or other output than ${OUTPUT}:\n${output}")
endif()
