# cmake -DMAKE=all|demo|test -P tests/make.cmake: what the Makefile calls. Configures, builds, tests. `all` leaves
# out what only the tests need.
cmake_minimum_required(VERSION 3.20)
set(build build)
set(configure "")
set(only "")
if(MAKE STREQUAL "all")
  set(only --target qwen600 qwen600-tiny tokenize prompt)
endif()
if(MAKE STREQUAL "demo")
  set(build build-demo)
  set(configure -DGPU=CARD -DBUILD_TESTING=OFF)
  set(only --target qwen600-tiny)
endif()
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
unset(ENV{MAKEFLAGS}) # the make that called is not to be felt by the one that CMake calls
unset(ENV{MAKELEVEL})

# Runs a command; ends with its status, and no second report, if it fails.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
  if(NOT status STREQUAL "0")
    string(REPLACE ";" " " command "${ARGV}")
    message(FATAL_ERROR "failed (${status}): ${command}")
  endif()
endfunction()

run(${CMAKE_COMMAND} -S . -B ${build} ${configure})
run(${CMAKE_COMMAND} --build ${build} --parallel ${cores} ${only})
if(MAKE STREQUAL "test")
  run(${CMAKE_CTEST_COMMAND} --test-dir ${build} --parallel ${cores} --output-on-failure)
endif()
