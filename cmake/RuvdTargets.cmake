# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# ruvd_room(NAME DEPS ...)       one static library from every .cc file of the current folder
# ruvd_test_suite(NAME DEPS ...) one gtest binary from every *_test.cc file of the current folder
# ruvd_unity(TARGET)             compiles the sources of a target eight at a time where RUVD_UNITY is on
# ruvd_fuzzer(NAME SOURCE DEPS)  one libFuzzer binary
# ruvd_add_header_check()        compiles every header alone, so that each includes what it needs

include(GoogleTest)
define_property(GLOBAL PROPERTY RUVD_HEADERS BRIEF_DOCS "headers" FULL_DOCS "all headers of all rooms")
define_property(GLOBAL PROPERTY RUVD_ROOMS BRIEF_DOCS "rooms" FULL_DOCS "all room targets")

function(ruvd_room name)
  cmake_parse_arguments(ARG "" "" "DEPS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
    list(FILTER headers EXCLUDE REGEX ${pattern})
  endforeach()
  if(NOT sources)
    set(sources ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
  endif()
  add_library(${name} STATIC ${sources} ${headers})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ruvd_warnings)
  set_property(GLOBAL APPEND PROPERTY RUVD_HEADERS ${headers})
  set_property(GLOBAL APPEND PROPERTY RUVD_ROOMS ${name})
endfunction()

function(ruvd_test_suite name)
  cmake_parse_arguments(ARG "" "LABEL" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ruvd_warnings
    rapidcheck_gtest rapidcheck GTest::gmock GTest::gtest_main)
  # What tests compute themselves is little; optimising it took a quarter of the time to build them.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(${name} PRIVATE
    RUVD_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RUVD_BINARY_DIR="${PROJECT_BINARY_DIR}")
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  set(timeout 300)
  if(RUVD_SANITIZE)
    set(timeout 1200)  # the loops under load take five minutes under ThreadSanitizer
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${timeout})
endfunction()

# A source of the node or of its tests spends four fifths of its time on the headers of gRPC, protobuf
# and Abseil; eight of them together read those once.
function(ruvd_unity target)
  if(RUVD_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

function(ruvd_fuzzer name source)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  if(NOT RUVD_BUILD_FUZZERS)
    return()
  endif()
  add_executable(${name} ${source})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ruvd_warnings)
endfunction()

function(ruvd_add_header_check)
  get_property(headers GLOBAL PROPERTY RUVD_HEADERS)
  get_property(rooms GLOBAL PROPERTY RUVD_ROOMS)
  set(sources)
  foreach(header ${headers})
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${header})
    if(relative MATCHES "-inl\\.h$")  # compiled once per SIMD target by its includer
      continue()
    endif()
    string(MAKE_C_IDENTIFIER ${relative} stem)
    set(source ${PROJECT_BINARY_DIR}/header_check/${stem}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${relative}\"\n#include \"${relative}\"\n")
    list(APPEND sources ${source})
  endforeach()
  if(sources)
    add_library(header_check OBJECT EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(header_check PRIVATE ${rooms} ruvd_warnings)
    target_compile_options(header_check PRIVATE -fsyntax-only)
  endif()
endfunction()
