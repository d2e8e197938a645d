#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Compiles headers alone, so that each includes what it uses: those that a change touches, or all.
#
#   deploy/headers.sh [--all] [--since COMMIT] [--limit N]
#
#   --all            every header of every room
#   --since COMMIT   what the change is compared with (default: as in deploy/changed-files.sh)
#   --limit N        at most N headers, those of the lowest rooms first (default: all that changed)
set -euo pipefail
cd "$(dirname "$0")/.."

rooms=(base privacy storage inference federation node)  # from bottom to top

usage() { sed -n '5,11s/^# \{0,1\}//p' deploy/headers.sh; }
fail() { echo "headers.sh: $1" >&2; exit 2; }

all=no
limit=
since=()
while [ $# -gt 0 ]; do
  case "$1" in
    --all) all=yes ;;
    --since | --limit)
      [ $# -ge 2 ] || fail "$1 needs a value; see --help"
      if [ "$1" = --since ]; then since=(--since "$2"); else limit=$2; fi
      shift ;;
    -h | --help) usage; exit 0 ;;
    *) fail "unknown argument $1; see --help" ;;
  esac
  shift
done
[[ "$limit" =~ ^([1-9][0-9]*)?$ ]] || fail "--limit takes a whole number from 1, not '$limit'"

cmake --preset release > /dev/null
if [ "$all" = yes ]; then
  cmake --build --preset release -j "$(nproc)" --target header_check
  echo "headers.sh: every header compiles alone"
  exit 0
fi

changed=$(./deploy/changed-files.sh "${since[@]}" '*.h') || {
  [ $? -eq 3 ] || exit 2
  echo "headers.sh: no header was checked, because the change is not known"
  exit 0
}
# Objects of the target header_check, which names its sources after the headers. Headers that it
# leaves out, such as those of tests, have none.
objects=()
for room in "${rooms[@]}"; do
  while read -r header; do
    object="CMakeFiles/header_check.dir/header_check/${header//[^A-Za-z0-9]/_}.cc.o"
    if grep -qF "build $object:" build/release/build.ninja; then
      objects+=("$object")
    fi
  done < <(grep "^$room/" <<< "$changed")
done
count=${#objects[@]}
if [ -n "$limit" ] && [ "$count" -gt "$limit" ]; then
  echo "headers.sh: $((count - limit)) of $count changed headers are left for deploy/nightly.sh"
  objects=("${objects[@]:0:limit}")
fi
if [ ${#objects[@]} -gt 0 ]; then
  cmake --build --preset release -j "$(nproc)" --target "${objects[@]}"
fi
echo "headers.sh: ${#objects[@]} changed headers compile alone"
