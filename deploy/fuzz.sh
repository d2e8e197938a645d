#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the fuzz targets (preset "fuzz": clang 19, libFuzzer, ASan, UBSan) and runs them one after
# the other. Prints one line per target; exits with 1 if any of them found something.
#
#   deploy/fuzz.sh [--seconds N] [--work FOLDER] [TARGET...]
#
#   --seconds N      how long each target runs (default 60)
#   --work FOLDER    keeps corpus, logs and findings there, so that a later run goes on from them
#                    (default: a temporary folder, removed unless there is a finding)
#   TARGET           names from tests/fuzz/CMakeLists.txt, such as gguf_fuzz (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."

fixtures=../shared/fixtures  # optional: targets without seeds start with an empty corpus
rss_limit_mb=2048            # no parser may need more for inputs of this size
timeout_s=25                 # limit for one input; a slower input is a finding
gguf_max_bytes=65536         # large enough for the smallest fixtures, small enough for fast runs

usage() { sed -n '8,13s/^# \{0,1\}//p' deploy/fuzz.sh; }
fail() { echo "fuzz.sh: $1" >&2; exit 2; }

seconds=60
work=
targets=()
mapfile -t known < <(sed -n 's/^ruvd_fuzzer(\([a-z0-9_]*\) .*/\1/p' tests/fuzz/CMakeLists.txt)
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds | --work)
      [ $# -ge 2 ] || fail "$1 needs a value; see --help"
      printf -v "${1#--}" '%s' "$2"
      shift ;;
    -h | --help) usage; exit 0 ;;
    -*) fail "unknown argument $1; see --help" ;;
    *)
      [[ " ${known[*]} " == *" $1 "* ]] || fail "no target $1; there are: ${known[*]}"
      targets+=("$1") ;;
  esac
  shift
done
[[ "$seconds" =~ ^[1-9][0-9]*$ ]] || fail "--seconds takes a whole number from 1, not '$seconds'"
[ ${#targets[@]} -gt 0 ] || targets=("${known[@]}")
command -v clang++-19 > /dev/null || fail "clang++-19 is missing; run deploy/install-deps.sh --dev"

keep=yes
if [ -z "$work" ]; then
  work=$(mktemp -d -t ruvd-fuzz.XXXXXX)
  keep=no
fi
mkdir -p "$work"
work=$(cd "$work" && pwd)

cmake --preset fuzz > "$work/build.log"
cmake --build --preset fuzz -j "$(nproc)" --target "${targets[@]}" >> "$work/build.log" ||
  { tail -n 40 "$work/build.log" >&2; fail "the build failed; its log is $work/build.log"; }

# Copies the fixtures that exist and are inputs of a target into its corpus.
seed() {
  local target=$1 corpus=$2 file
  case "$target" in
    gguf_fuzz) set -- "$fixtures"/broken/*.gguf ;;
    adapter_fuzz) set -- "$fixtures"/lora/*.gguf ;;
    tokenizer_fuzz) set -- "$fixtures"/tokenizers/*.inp ;;
    *) return 0 ;;
  esac
  for file in "$@"; do
    [ ! -f "$file" ] || cp "$file" "$corpus/seed-$(basename "$file")"
  done
}

# Runs one target and prints its line; fails if it found something.
run() {
  local target=$1 folder="$work/$1" options=() log runs
  log="$folder/log"
  mkdir -p "$folder/corpus" "$folder/findings"
  seed "$target" "$folder/corpus"
  case "$target" in
    gguf_fuzz | adapter_fuzz | lora_file_fuzz) options+=("-max_len=$gguf_max_bytes") ;;
  esac
  if "build/fuzz/tests/fuzz/$target" -max_total_time="$seconds" -rss_limit_mb="$rss_limit_mb" \
    -timeout="$timeout_s" -print_final_stats=1 -artifact_prefix="$folder/findings/" \
    "${options[@]}" "$folder/corpus" > "$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "$target: ${runs:-0} runs in $seconds s, no finding"
  else
    echo "$target: FINDING, see $log and $folder/findings"
    return 1
  fi
}

# clang's runtime accepts a symboliser only under its name without a version.
if symbolizer=$(realpath -e "$(command -v llvm-symbolizer-19)" 2> /dev/null); then
  export ASAN_SYMBOLIZER_PATH="$symbolizer" UBSAN_OPTIONS="print_stacktrace=1"
fi
findings=0
for target in "${targets[@]}"; do
  run "$target" || findings=$((findings + 1))
done
if [ "$findings" -gt 0 ]; then
  echo "fuzz.sh: $findings of ${#targets[@]} targets found something" >&2
  exit 1
fi
[ "$keep" = yes ] || rm -rf "$work"
