# SPDX-License-Identifier: Apache-2.0
#
# gopmill_test(NAME name SOURCES ... DEPS ... LABELS ... [TIMEOUT seconds] [SHARDS runs]
#              [NOT_TSAN filter] [NOT_ASAN filter] [BUSY])
# makes one GoogleTest program and registers its cases with ctest.
#
# LABELS say when a case runs: unit, integration, golden, browser, setup, lint name its kind; `long`
# keeps it out of tools/test (not out of tools/test --all); `asan` and `tsan` add it to the sanitizer
# stages, where all of `unit` runs anyway under asan.
#
# NOT_TSAN names cases that the tsan build leaves out: long computations in one thread, and repeated
# comparisons of bytes, which find no more races and take minutes. NOT_ASAN: what asan leaves out,
# statistics over code that shorter cases run, too, and what the sanitizer itself cannot stand. SHARDS:
# in how many runs of the program a sanitizer build has its cases. BUSY: a case keeps two CPUs busy, and
# counts as two of those that ctest runs at once. It begins what costs most (COST) first: busy scripts,
# scripts that wait for players and live streams, busy cases, all others; so nothing long comes at the
# end. The numbers are more than the seconds that ctest has measured, which it takes for the others.
#
# Every test runs in the top folder of the sources, so that tests/... and movies/files/... are good
# relative paths, and finds the program under test in the variable GOPMILL_PROGRAM.
enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)

set(GOPMILL_TEST_ENVIRONMENT "GOPMILL_PROGRAM=${PROJECT_BINARY_DIR}/gopmill")

# Building one of these builds the test programs that have the label.
foreach(label unit integration golden fuzz browser asan tsan)
  add_custom_target(tests_${label})
endforeach()

function(gopmill_test)
  cmake_parse_arguments(ARG "BUSY" "NAME;TIMEOUT;SHARDS;NOT_TSAN;NOT_ASAN" "SOURCES;DEPS;LABELS"
                        ${ARGN})
  set(ARG_PROCESSORS 1)
  set(ARG_COST 0)
  if(ARG_BUSY)
    set(ARG_PROCESSORS 2)
    set(ARG_COST 1000)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 3)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${ARG_NAME} PRIVATE gopmill_warnings gopmill_test_main GTest::gmock
                                            ${ARG_DEPS})
  foreach(label ${ARG_LABELS})
    if(TARGET tests_${label})
      add_dependencies(tests_${label} ${ARG_NAME})
    endif()
  endforeach()
  if(GOPMILL_SANITIZE)
    gopmill_register_shards()
  else()
    gopmill_register_cases()
  endif()
endfunction()

# The two ways to register the program of gopmill_test, with its arguments. One test per case: what
# people see and choose from.
macro(gopmill_register_cases)
  gtest_discover_tests(
    ${ARG_NAME}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 30
    TEST_PREFIX "${ARG_NAME}/"
    TEST_LIST ${ARG_NAME}_TESTS
    NO_PRETTY_VALUES # of a struct they are its bytes, with addresses: another name in each run
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${ARG_PROCESSORS} COST ${ARG_COST} ENVIRONMENT
               "${GOPMILL_TEST_ENVIRONMENT}")
  # gtest_discover_tests flattens lists, so a property with several values is set by a file that ctest
  # reads after the discovery.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_labels.cmake)
  file(
    WRITE ${labels_file}
    "if(${ARG_NAME}_TESTS)\n"
    "  set_tests_properties(\${${ARG_NAME}_TESTS} PROPERTIES LABELS \"${ARG_LABELS}\")\n"
    "endif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
endmacro()

# A few runs of the whole program: an instrumented program takes 0.1 to 0.3 s to start, and there are
# 1,500 cases.
macro(gopmill_register_shards)
  math(EXPR last "${ARG_SHARDS} - 1")
  math(EXPR timeout "${ARG_TIMEOUT} * 5")
  set(filter "*")
  if(GOPMILL_SANITIZE STREQUAL "thread")
    set(filter "*-${ARG_NOT_TSAN}")
  else()
    set(filter "*-${ARG_NOT_ASAN}")
  endif()
  foreach(shard RANGE ${last})
    add_test(
      NAME ${ARG_NAME}/${shard}
      COMMAND ${ARG_NAME}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(
      ${ARG_NAME}/${shard}
      PROPERTIES
        LABELS "${ARG_LABELS}"
        TIMEOUT ${timeout}
        ENVIRONMENT
        "${GOPMILL_TEST_ENVIRONMENT};GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${shard};GTEST_FILTER=${filter}")
  endforeach()
endmacro()

# gopmill_script_test(NAME name COMMAND ... LABELS ... [TIMEOUT seconds] [BUSY]) registers a script as one
# test. Exit code 77 means skipped: what the test needs is not on this machine.
function(gopmill_script_test)
  cmake_parse_arguments(ARG "SERIAL;BUSY" "NAME;TIMEOUT" "COMMAND;LABELS" ${ARGN})
  set(ARG_PROCESSORS 1)
  set(ARG_COST 2000)
  if(ARG_BUSY)
    set(ARG_PROCESSORS 2)
    set(ARG_COST 3000)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(
    NAME ${ARG_NAME}
    COMMAND ${ARG_COMMAND}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(
    ${ARG_NAME}
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77 RUN_SERIAL
               "${ARG_SERIAL}" PROCESSORS ${ARG_PROCESSORS} COST ${ARG_COST} ENVIRONMENT
               "${GOPMILL_TEST_ENVIRONMENT}")
endfunction()
