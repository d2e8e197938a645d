#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of the rooms that a change touches under AddressSanitizer and
# UndefinedBehaviorSanitizer. It uses the build of the fuzz targets (preset "fuzz"), so that the
# gate compiles the rooms with sanitizers only once.
#
#   deploy/sanitize.sh [--since COMMIT]
#
#   --since COMMIT   what the change is compared with (default: the commit before the newest one)
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '9,11s/^# \{0,1\}//p' deploy/sanitize.sh; }
fail() { echo "sanitize.sh: $1" >&2; exit 2; }

since=HEAD~1
while [ $# -gt 0 ]; do
  case "$1" in
    --since)
      [ $# -ge 2 ] || fail "$1 needs a value; see --help"
      since=$2
      shift ;;
    -h | --help) usage; exit 0 ;;
    *) fail "unknown argument $1; see --help" ;;
  esac
  shift
done
git rev-parse --verify --quiet "$since^{commit}" > /dev/null ||
  fail "there is no commit $since; name one with --since"
command -v clang++-19 > /dev/null || fail "clang++-19 is missing; run deploy/install-deps.sh --gate"

# The suite of a room has the room's name: storage/hnsw is hnsw_tests, node/serving is serving_tests.
mapfile -t suites < <(git diff --name-only "$since" -- '*.cc' '*.h' '*.proto' |
  sed -nE 's#^(tests/)?storage/hnsw/.*#hnsw#p; t
           s#^(tests/)?(base|privacy|storage|inference|federation)/.*#\2#p; t
           s#^tests/sim/.*#sim#p; t
           s#^(tests/)?node/([a-z]+)/.*#\2#p' | LC_ALL=C sort -u)
cmake --preset fuzz > /dev/null
targets=()
for suite in "${suites[@]}"; do
  # Rooms such as node/terminal have no suite of their own; the program's suite covers them.
  if grep -qE "^build [^:]*${suite}_tests:" build/fuzz/build.ninja; then
    targets+=("${suite}_tests")
  else
    targets+=(program_tests)
  fi
done
if [ ${#targets[@]} -eq 0 ]; then
  echo "sanitize.sh: no room changed since $since"
  exit 0
fi
mapfile -t targets < <(printf '%s\n' "${targets[@]}" | LC_ALL=C sort -u)
echo "sanitize.sh: ${targets[*]}"
cmake --build --preset fuzz -j "$(nproc)" --target "${targets[@]}"
if symbolizer=$(realpath -e "$(command -v llvm-symbolizer-19)" 2> /dev/null); then
  export ASAN_SYMBOLIZER_PATH="$symbolizer"
fi
export UBSAN_OPTIONS=print_stacktrace=1
for target in "${targets[@]}"; do
  program=$(find build/fuzz -type f -name "$target" -perm -u+x)
  "$program" --gtest_brief=1
done
echo "sanitize.sh: ${#targets[@]} suites are clean"
