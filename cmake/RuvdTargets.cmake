# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# ruvd_room(NAME [FOLDER F] DEPS ...)       one static library from every .cc file of a folder
# ruvd_test_suite(NAME [FOLDER F] DEPS ...) one gtest binary from every *_test.cc file of a folder
# ruvd_fuzzer(NAME SOURCE [PARSERS ...] DEPS ...) one libFuzzer binary; PARSERS are sources of a room
#                                that is not linked as a whole, because the target needs little of it
# ruvd_add_header_check()        compiles every header alone, so that each includes what it needs

include(GoogleTest)
define_property(GLOBAL PROPERTY RUVD_HEADERS BRIEF_DOCS "headers" FULL_DOCS "all headers of all rooms")
define_property(GLOBAL PROPERTY RUVD_ROOMS BRIEF_DOCS "rooms" FULL_DOCS "all room targets")

# Headers that nearly every source includes are compiled once for all targets with the same flags;
# cmake/precompiled.h explains the choice. Fuzz targets are few and do not use them.
# With clang, each folder of a clone has its own entries in ccache, because clang writes the names of
# folders into a precompiled header; it still halves the time of the first build.
option(RUVD_PRECOMPILE "Precompile the headers that most sources read" ON)
function(ruvd_precompiled name header)
  cmake_parse_arguments(ARG "PROGRAM" "" "DEPS;OPTIONS" ${ARGN})
  # Programs and libraries differ in how their code may be placed in memory.
  if(ARG_PROGRAM)
    add_executable(${name} ${PROJECT_SOURCE_DIR}/cmake/empty_program.cc)
  else()
    add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ruvd_warnings)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  # In angle brackets the header is named without its folder, so that all clones have the same
  # precompiled header and share ccache's entries.
  target_precompile_headers(${name} PRIVATE <${header}>)
endfunction()
function(ruvd_reuse_precompiled target name)
  if(RUVD_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      # To compute its key, ccache has clang read the header's text in place of the precompiled one.
      target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake)
    endif()
  endif()
endfunction()
# Test code itself computes little, and optimising it fully took a quarter of its build time.
set(RUVD_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)
if(RUVD_PRECOMPILE)
  ruvd_precompiled(ruvd_precompiled_room precompiled.h
    DEPS absl::status absl::statusor fmt::fmt)
  if(RUVD_BUILD_TESTS)
    ruvd_precompiled(ruvd_precompiled_test precompiled_test.h PROGRAM
      DEPS absl::status absl::statusor fmt::fmt GTest::gmock OPTIONS ${RUVD_TEST_OPTIONS})
  endif()
endif()

function(ruvd_room name)
  cmake_parse_arguments(ARG "" "FOLDER" "DEPS;PRIVATE_DEPS;EXCLUDE" ${ARGN})
  set(folder ${CMAKE_CURRENT_SOURCE_DIR})
  if(ARG_FOLDER)
    string(APPEND folder /${ARG_FOLDER})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${folder}/*.h)
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
    list(FILTER headers EXCLUDE REGEX ${pattern})
  endforeach()
  if(NOT sources)
    set(sources ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
  endif()
  add_library(${name} STATIC ${sources} ${headers})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} ruvd_warnings)
  ruvd_reuse_precompiled(${name} ruvd_precompiled_room)
  set_property(GLOBAL APPEND PROPERTY RUVD_HEADERS ${headers})
  set_property(GLOBAL APPEND PROPERTY RUVD_ROOMS ${name})
endfunction()

# Sources with compile options of their own cannot use the precompiled header.
function(ruvd_source_options)
  cmake_parse_arguments(ARG "" "" "SOURCES;OPTIONS" ${ARGN})
  set_source_files_properties(${ARG_SOURCES} PROPERTIES
    COMPILE_OPTIONS "${ARG_OPTIONS}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

function(ruvd_test_suite name)
  cmake_parse_arguments(ARG "" "FOLDER;LABEL" "DEPS" ${ARGN})
  set(folder ${CMAKE_CURRENT_SOURCE_DIR})
  if(ARG_FOLDER)
    string(APPEND folder /${ARG_FOLDER})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ruvd_test_paths ruvd_warnings
    rapidcheck_gtest rapidcheck GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${RUVD_TEST_OPTIONS})
  ruvd_reuse_precompiled(${name} ruvd_precompiled_test)
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  set(timeout 300)
  if(RUVD_SANITIZE)
    set(timeout 1200)  # under ThreadSanitizer the learning loops under load take five minutes
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${timeout})
endfunction()

function(ruvd_fuzzer name source)
  cmake_parse_arguments(ARG "" "" "PARSERS;DEPS" ${ARGN})
  if(NOT RUVD_BUILD_FUZZERS)
    return()
  endif()
  list(TRANSFORM ARG_PARSERS PREPEND ${PROJECT_SOURCE_DIR}/)
  add_executable(${name} ${source} ${ARG_PARSERS})
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
    if(relative MATCHES "-inl\\.h$")  # its includer compiles it once for each SIMD target
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
