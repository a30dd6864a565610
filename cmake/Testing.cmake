# SPDX-License-Identifier: Apache-2.0
#
# gopmill_test(NAME name SOURCES ... DEPS ... LABELS ... [TIMEOUT seconds]) makes one GoogleTest
# program and registers each of its cases with ctest.
#
# LABELS say when a case runs: unit, integration, golden, browser, setup, lint name its kind; `long`
# keeps it out of tools/test (not out of tools/test --all); `asan` and `tsan` add it to the sanitizer
# stages, where all of `unit` runs anyway under asan.
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
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${ARG_NAME} PRIVATE gopmill_warnings gopmill_test_main GTest::gmock
                                            ${ARG_DEPS})
  gtest_discover_tests(
    ${ARG_NAME}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 30
    TEST_PREFIX "${ARG_NAME}/"
    TEST_LIST ${ARG_NAME}_TESTS
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${GOPMILL_TEST_ENVIRONMENT}")
  foreach(label ${ARG_LABELS})
    if(TARGET tests_${label})
      add_dependencies(tests_${label} ${ARG_NAME})
    endif()
  endforeach()
  # gtest_discover_tests flattens lists, so a property with several values is set by a file that ctest
  # reads after the discovery.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_labels.cmake)
  file(
    WRITE ${labels_file}
    "if(${ARG_NAME}_TESTS)\n"
    "  set_tests_properties(\${${ARG_NAME}_TESTS} PROPERTIES LABELS \"${ARG_LABELS}\")\n"
    "endif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
endfunction()

# gopmill_script_test(NAME name COMMAND ... LABELS ... [TIMEOUT seconds]) registers a script as one
# test. Exit code 77 means skipped: what the test needs is not on this machine.
function(gopmill_script_test)
  cmake_parse_arguments(ARG "SERIAL" "NAME;TIMEOUT" "COMMAND;LABELS" ${ARGN})
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
               "${ARG_SERIAL}" ENVIRONMENT "${GOPMILL_TEST_ENVIRONMENT}")
endfunction()
