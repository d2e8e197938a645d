#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the fuzz targets (preset "fuzz": clang 19, libFuzzer, ASan, UBSan) and runs them from the
# corpus in tests/fuzz/corpus. Prints one line per target; exits with 1 if any found something.
#
#   deploy/fuzz.sh [--seconds N] [--jobs N] [--work FOLDER] [--save] [TARGET...]
#
#   --seconds N      how long each target runs (default 60)
#   --jobs N         how many targets run at a time (default 1)
#   --work FOLDER    keeps corpus, logs and findings there, so that a later run goes on from them
#                    (default: a temporary folder, removed unless there is a finding)
#   --save           starts without fixtures, which are not ours to keep, and afterwards writes a
#                    small share of the corpus into tests/fuzz/corpus
#   TARGET           names from tests/fuzz/CMakeLists.txt, such as gguf_fuzz (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."

fixtures=../shared/fixtures  # optional: targets without seeds start with an empty corpus
rss_limit_mb=2048            # no parser may need more for inputs of this size
timeout_s=25                 # limit for one input; a slower input is a finding
gguf_max_bytes=65536         # large enough for the smallest fixtures, small enough for fast runs
saved_inputs=24              # by target; the repository stays small, and the gate has 5 s
saved_bytes=2048             # by input

usage() { sed -n '5,16s/^# \{0,1\}//p' deploy/fuzz.sh; }
fail() { echo "fuzz.sh: $1" >&2; exit 2; }

seconds=60
jobs=1
save=no
work=
targets=()
mapfile -t known < <(sed -n 's/^ruvd_fuzzer(\([a-z0-9_]*\) .*/\1/p' tests/fuzz/CMakeLists.txt)
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds | --jobs | --work)
      [ $# -ge 2 ] || fail "$1 needs a value; see --help"
      printf -v "${1#--}" '%s' "$2"
      shift ;;
    --save) save=yes ;;
    -h | --help) usage; exit 0 ;;
    -*) fail "unknown argument $1; see --help" ;;
    *)
      [[ " ${known[*]} " == *" $1 "* ]] || fail "no target $1; there are: ${known[*]}"
      targets+=("$1") ;;
  esac
  shift
done
[[ "$seconds" =~ ^[1-9][0-9]*$ ]] || fail "--seconds takes a whole number from 1, not '$seconds'"
[[ "$jobs" =~ ^[1-9][0-9]*$ ]] || fail "--jobs takes a whole number from 1, not '$jobs'"
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

# Copies the saved inputs of a target, and the fixtures that exist unless the corpus is to be saved,
# into its corpus.
seed() {
  local target=$1 corpus=$2 file
  for file in "tests/fuzz/corpus/$target"/*; do
    [ ! -f "$file" ] || cp "$file" "$corpus/"
  done
  [ "$save" = no ] || return 0
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

# Replaces the saved corpus of a target by inputs of this run of which each reaches other code. Where
# there are too many it takes some of every size, because small ones alone do not get past the first
# checks of a parser.
save_corpus() {
  local target=$1 folder="$work/$1" saved="tests/fuzz/corpus/$1" file
  rm -rf "$folder/merged" "$saved"
  mkdir -p "$folder/merged" "$saved"
  "build/fuzz/tests/fuzz/$target" -merge=1 -max_len="$saved_bytes" "$folder/merged" \
    "$folder/corpus" >> "$folder/log" 2>&1 || return 1
  while read -r file; do
    cp "$file" "$saved/"
  done < <(find "$folder/merged" -type f -size "-$((saved_bytes + 1))c" -printf '%s %p\n' |
    sort -n | cut -d' ' -f2- | spread)
}

# Prints every line of its input, or $saved_inputs of them at equal distances.
spread() {
  awk -v most="$saved_inputs" '{ line[NR] = $0 }
    END { n = NR < most ? NR : most; for (i = 1; i <= n; i++) print line[int(i * NR / n)] }'
}

findings=0
running=0
for target in "${targets[@]}"; do
  run "$target" &
  running=$((running + 1))
  if [ "$running" -ge "$jobs" ]; then
    wait -n || findings=$((findings + 1))
    running=$((running - 1))
  fi
done
while [ "$running" -gt 0 ]; do
  wait -n || findings=$((findings + 1))
  running=$((running - 1))
done
if [ "$findings" -gt 0 ]; then
  echo "fuzz.sh: $findings of ${#targets[@]} targets found something" >&2
  exit 1
fi
echo "fuzz.sh: ${#targets[@]} targets found nothing"
if [ "$save" = yes ]; then
  for target in "${targets[@]}"; do
    save_corpus "$target" || fail "saving the corpus of $target failed; see $work/$target/log"
  done
fi
[ "$keep" = yes ] || rm -rf "$work"
