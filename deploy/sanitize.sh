#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of the rooms that a change touches under AddressSanitizer and
# UndefinedBehaviorSanitizer, those of the lowest room first. It uses the build of the fuzz targets
# (preset "fuzz"), so that the gate compiles the rooms with sanitizers only once.
#
#   deploy/sanitize.sh [--since COMMIT] [--seconds N] [ROOM...]
#
#   --since COMMIT   what the change is compared with (default: as in deploy/changed-files.sh)
#   --seconds N      stops after this time, and names the suites that are left (default: no limit)
#   ROOM             the suites of these rooms in place of those that changed, such as storage
set -euo pipefail
cd "$(dirname "$0")/.."

# Rooms with a suite of their own, from bottom to top; the suite of storage is storage_tests.
mapfile -t rooms_of_node < <(sed -n 's/^ruvd_test_suite(\([a-z_]*\)_tests .*/\1/p' tests/node/CMakeLists.txt)
rooms=(base privacy hnsw storage inference federation sim "${rooms_of_node[@]}")

usage() { sed -n '5,13s/^# \{0,1\}//p' deploy/sanitize.sh; }
fail() { echo "sanitize.sh: $1" >&2; exit 2; }

limit=
since=()
touched=
while [ $# -gt 0 ]; do
  case "$1" in
    --since | --seconds)
      [ $# -ge 2 ] || fail "$1 needs a value; see --help"
      if [ "$1" = --since ]; then since=(--since "$2"); else limit=$2; fi
      shift ;;
    -h | --help) usage; exit 0 ;;
    -*) fail "unknown argument $1; see --help" ;;
    *)
      [[ " ${rooms[*]} " == *" $1 "* ]] || fail "no room $1; there are: ${rooms[*]}"
      touched+="$1"$'\n' ;;
  esac
  shift
done
[[ "$limit" =~ ^([1-9][0-9]*)?$ ]] || fail "--seconds takes a whole number from 1, not '$limit'"
command -v clang++-19 > /dev/null || fail "clang++-19 is missing; run deploy/install-deps.sh --gate"

# Prints the room whose suite covers a file.
room_of() {
  local room
  case "${1#tests/}" in
    storage/hnsw/*) echo hnsw ;;
    base/* | privacy/* | storage/* | inference/* | federation/* | sim/*)
      room=${1#tests/}
      echo "${room%%/*}" ;;
    proto/*) echo federation ;;
    # These rooms have no suite of their own.
    node/terminal/*) echo cli ;;
    node/metrics/*) echo process ;;
    node/api/http/*) echo api_http ;;
    node/*/*)
      room=${1#tests/node/}
      room=${room#node/}
      echo "${room%%/*}" ;;
    node/*) echo program ;;
  esac
}

if [ -z "$touched" ]; then
  changed=$(./deploy/changed-files.sh "${since[@]}" '*.cc' '*.h' '*.proto') || {
    [ $? -eq 3 ] || exit 2
    echo "sanitize.sh: no suite was run, because the change is not known"
    exit 0
  }
  while read -r file; do
    touched+="$(room_of "$file")"$'\n'
  done <<< "$changed"
fi
suites=()
for room in "${rooms[@]}"; do
  ! grep -qx "$room" <<< "$touched" || suites+=("${room}_tests")
done
if [ ${#suites[@]} -eq 0 ]; then
  echo "sanitize.sh: the change touches no room"
  exit 0
fi

# clang's runtime accepts a symboliser only under its name without a version.
if symbolizer=$(realpath -e "$(command -v llvm-symbolizer-19)" 2> /dev/null); then
  export ASAN_SYMBOLIZER_PATH="$symbolizer"
fi
export UBSAN_OPTIONS=print_stacktrace=1
logs=$(mktemp -d -t ruvd-sanitize.XXXXXX)
trap 'rm -rf "$logs"' EXIT

# Runs a command for the rest of the time; ends with 124 when the time is over.
in_time() {
  if [ -z "$limit" ]; then
    "$@"
  elif [ "$SECONDS" -ge "$limit" ]; then
    return 124
  else
    timeout "$((limit - SECONDS))" "$@"
  fi
}

# Runs the tests of a suite, a share of them in each process; prints the output of a process that
# fails.
run() {
  local suite=$1 program shard shards processes=() result=0 status
  program=$(find build/fuzz -type f -name "$suite" -perm -u+x)
  shards=$(nproc)
  for ((shard = 0; shard < shards; shard++)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard in_time "$program" --gtest_brief=1 \
      > "$logs/$shard" 2>&1 &
    processes+=($!)
  done
  for ((shard = 0; shard < shards; shard++)); do
    status=0
    wait "${processes[shard]}" || status=$?
    case "$status" in
      0) ;;
      124) [ "$result" -ne 0 ] || result=124 ;;
      *)
        result=1
        tail -n 100 "$logs/$shard" >&2 ;;
    esac
  done
  return "$result"
}

cmake --preset fuzz > /dev/null
clean=()
left=()
for suite in "${suites[@]}"; do
  status=0
  in_time cmake --build --preset fuzz -j "$(nproc)" --target "$suite" > "$logs/build" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then
    run "$suite" || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || { echo "sanitize.sh: $suite FAILED" >&2; exit 1; }
  elif [ "$status" -ne 124 ]; then
    tail -n 40 "$logs/build" >&2
    fail "the build of $suite failed"
  fi
  if [ "$status" -eq 124 ]; then left+=("$suite"); else clean+=("$suite"); fi
done
[ ${#clean[@]} -eq 0 ] || echo "sanitize.sh: clean: ${clean[*]}"
[ ${#left[@]} -eq 0 ] || echo "sanitize.sh: left for deploy/nightly.sh after $limit s: ${left[*]}"
