# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# This file sets compiler flags, ccache and mold. It says how to build and not what to build.

find_program(RUVD_CCACHE ccache)
if(RUVD_CCACHE)
  # The base folder lets clones in other folders share the cache. Precompiled headers need the other
  # settings, which are safe: the compiler itself checks that a precompiled header fits, and no
  # source uses the time of its compilation. clang would write the time of each header's last change
  # into a precompiled header, so that it differed after every checkout.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${RUVD_CCACHE})
  add_compile_options("$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>"
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

find_program(RUVD_MOLD mold)
if(RUVD_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Some packages ask for it: a precompiled header fits only targets that all have it.
add_compile_options(-pthread)

# RuvdTargets links these warnings to every target except generated protobuf code.
add_library(ruvd_warnings INTERFACE)
target_compile_options(ruvd_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers)  # designated initializers may leave out fields with defaults
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Debian's Abseil 20220623 triggers newer warnings of clang 19 in macros of its own headers.
  target_compile_options(ruvd_warnings INTERFACE -Wthread-safety -Wno-deprecated-declarations
    -Wno-gnu-zero-variadic-macro-arguments)
else()
  # g++ 12 gives false positives for these inside libstdc++ at -O2 (GCC PR105329, PR105651).
  target_compile_options(ruvd_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized
    -Wno-stringop-overread -Wno-array-bounds -Wno-stringop-overflow)
endif()

if(RUVD_SANITIZE)
  add_compile_options(-fsanitize=${RUVD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RUVD_SANITIZE})
  if(RUVD_SANITIZE MATCHES thread)
    # Under this macro protobuf's headers give messages with maps another layout than Debian's library,
    # which is not instrumented, has; reflection over such a message then reads wild pointers.
    add_compile_options(-U__SANITIZE_THREAD__)
    # Asio has fences, which g++ says it cannot follow; its queues are guarded by mutexes as well.
    add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()
if(RUVD_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(RUVD_BUILD_FUZZERS)
  # The fuzzer needs coverage feedback from the rooms and not only from the file with the entry
  # point.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
