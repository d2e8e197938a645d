# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Compiler flags, ccache and mold. Everything here is about how we build, nothing about what.

find_program(RUVD_CCACHE ccache)
if(RUVD_CCACHE)
  # Clones in other folders share what is cached. Precompiled headers need the rest: the compiler
  # itself checks that they fit, and no source asks for the time of its compilation.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${RUVD_CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()

find_program(RUVD_MOLD mold)
if(RUVD_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Some packages ask for it: a precompiled header fits only targets that all have it.
add_compile_options(-pthread)

# Included by every target through RuvdTargets, never by generated protobuf code.
add_library(ruvd_warnings INTERFACE)
target_compile_options(ruvd_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers)  # designated initializers leave the rest to their defaults
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Debian's Abseil 20220623 trips clang 19's newer checks inside its own headers' expansions.
  target_compile_options(ruvd_warnings INTERFACE -Wthread-safety -Wno-deprecated-declarations
    -Wno-gnu-zero-variadic-macro-arguments)
else()
  # g++ 12 reports false positives of these inside libstdc++ at -O2 (GCC PR105329, PR105651).
  target_compile_options(ruvd_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized
    -Wno-stringop-overread -Wno-array-bounds -Wno-stringop-overflow)
endif()

if(RUVD_SANITIZE)
  add_compile_options(-fsanitize=${RUVD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RUVD_SANITIZE})
endif()
if(RUVD_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(RUVD_BUILD_FUZZERS)
  # Coverage feedback from the rooms too, not only from the file that holds the entry point.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
