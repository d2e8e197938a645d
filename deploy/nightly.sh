#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs what is too long for the gate: every header alone, both sanitizers over every test, clang-tidy
# over every source, every fuzz target, the tests of the benchmarks, simulated worlds, and attacks on
# real nodes (with root in network namespaces, otherwise on loopback). It takes some hours on two
# cores. Each part runs even where an earlier one found something; the exit code is the number of
# parts with findings.
#
#   deploy/nightly.sh [--fuzz-seconds N] [--seeds A..B] [PART...]
#
#   --fuzz-seconds N  how long each fuzz target runs (default 60)
#   --seeds A..B      seeds of the worlds of 20 nodes (default 1..200)
#   PART              headers, asan, tsan, bench, tidy, fuzz, worlds or hostile (default: all, in
#                     this order)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

usage() { sed -n '5,16s/^# \{0,1\}//p' deploy/nightly.sh; }
fail() { echo "nightly.sh: $1" >&2; exit 2; }

fuzz_seconds=60
seeds=1..200
parts=()
while [ $# -gt 0 ]; do
  case "$1" in
    --fuzz-seconds | --seeds)
      [ $# -ge 2 ] || fail "$1 needs a value; see --help"
      if [ "$1" = --seeds ]; then seeds=$2; else fuzz_seconds=$2; fi
      shift ;;
    -h | --help) usage; exit 0 ;;
    headers | asan | tsan | bench | tidy | fuzz | worlds | hostile) parts+=("$1") ;;
    *) fail "unknown argument $1; see --help" ;;
  esac
  shift
done
[ ${#parts[@]} -gt 0 ] || parts=(headers asan tsan bench tidy fuzz worlds hostile)
[[ "$fuzz_seconds" =~ ^[1-9][0-9]*$ ]] || fail "--fuzz-seconds takes a whole number from 1, not '$fuzz_seconds'"

./deploy/install-deps.sh --dev || exit 2

release_build() {
  cmake --preset release -DRUVD_BUILD_BENCHMARKS=ON > /dev/null &&
    cmake --build --preset release -j "$(nproc)" "$@"
}

run_part() {
  case "$1" in
    headers) ./deploy/headers.sh --all ;;
    asan) ./deploy/test.sh --preset asan-ubsan ;;
    tsan) ./deploy/test.sh --preset tsan ;;
    bench) release_build && build/release/tests/bench/bench_tests --gtest_brief=1 ;;
    # The compile database names generated headers, which the build makes.
    tidy) release_build && ./deploy/lint.sh --all ;;
    fuzz) ./deploy/fuzz.sh --seconds "$fuzz_seconds" --jobs "$(nproc)" ;;
    worlds)
      release_build --target world &&
        build/release/tests/sim/world --nodes 20 --seeds "$seeds" &&
        build/release/tests/sim/world --nodes 20 --seeds "$seeds" --undialable 0.34 &&
        build/release/tests/sim/world --nodes 100 --seeds 1..4 ;;
    hostile)
      release_build --target ruvd insider &&
        if [ "$(id -u)" -eq 0 ]; then
          tests/campaign/hostile.py --all
        else
          tests/campaign/hostile.py && tests/campaign/hostile.py --insiders
        fi ;;
  esac
}

findings=()
for part in "${parts[@]}"; do
  echo "== $part"
  run_part "$part" || findings+=("$part")
done
if [ ${#findings[@]} -gt 0 ]; then
  echo "nightly.sh: these parts found something: ${findings[*]}" >&2
  exit ${#findings[@]}
fi
echo "nightly.sh: no part found anything"
