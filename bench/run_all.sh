#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the tables of bench/results/beside-the-peer.json for this machine: our engine and a peer on
# the same model files, run alternately, with floors from bench/peak. Makes the model files (3 GB)
# where they are missing. Takes about six minutes on two idle cores.
#
# usage: bench/run_all.sh --peer PROGRAM [--plain-peer PROGRAM] [--models FOLDER] [--runs N]
#   --peer        takes the commands forward, decode and denoise with the options that are passed
#                 below and prints the JSON line of bench/engine; a few dozen lines around libllama do
#   --plain-peer  the same built without tiles (AMX), run beside our kernels without tiles
#   --models      default: build/bench-models
#   --runs        alternations of each pair (default: 3)
set -euo pipefail
cd "$(dirname "$0")/.."

peer='' plain_peer='' models=build/bench-models runs=3
while [[ $# -gt 0 ]]; do
  case "$1" in
    --peer | --plain-peer | --models | --runs)
      [[ $# -ge 2 ]] || { echo "run_all.sh: $1 needs a value" >&2; exit 2; }
      name=${1#--}
      printf -v "${name//-/_}" '%s' "$2"
      shift ;;
    *) echo "run_all.sh: unknown option $1; see the head of this file" >&2; exit 2 ;;
  esac
  shift
done
[[ -x "$peer" ]] || { echo "run_all.sh: name the peer's program with --peer" >&2; exit 2; }
engine=build/release/bench/engine peak=build/release/bench/peak
for program in "$engine" "$peak"; do
  [[ -x "$program" ]] || { echo "run_all.sh: $program is missing; run: cmake --preset bench &&" \
    "cmake --build --preset bench" >&2; exit 1; }
done

# shape architecture type
model() { echo "$models/$1-$2-$3.gguf"; }
make_models() {
  mkdir -p "$models"
  local type file
  for file in 0.5b:dream:Q4_0 0.5b:dream:Q8_0 0.5b:dream:Q4_K_M 0.5b:qwen2:Q4_0 0.5b:qwen2:Q8_0 \
    29m:dream:Q8_0 29m:dream:Q4_0 29m:qwen2:Q8_0 29m:qwen2:Q4_0 7b-layer:dream:Q4_K; do
    IFS=: read -r shape arch type <<< "$file"
    [[ -f "$(model "$shape" "$arch" "$type")" ]] ||
      "$engine" make --shape "$shape" --arch "$arch" --type "$type" \
        --out "$(model "$shape" "$arch" "$type")" > /dev/null
  done
}

number() { python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1], 0))' "$1"; }

header() {
  printf '\n### %s\n\n' "$1"
  echo '| | ms CPU | ms wall | GFLOP/s | tokens/s | floor, ms CPU | peer ms CPU | peer ms wall |' \
    'peer / ours, CPU | peer / ours, wall |'
  echo '|---|---|---|---|---|---|---|---|---|---|'
}

# label, extra options of compare.py (may be empty), file, command and its options for both
row() {
  local label=$1 extra=$2 file=$3 command=$4
  shift 4
  # shellcheck disable=SC2086  # several words
  bench/compare.py --row --label "$label" --runs "$runs" $extra \
    --ours "$engine $command --model $file $*" --peer "$peer $command --model $file $*"
}

make_models
peaks=$("$peak")
compute=$(number int8_gops <<< "$peaks")
tiles=$(number int8_amx_gops <<< "$peaks")
[[ "${tiles%.*}" -gt 0 ]] && compute=$tiles
bandwidth=$(number dram_gbs <<< "$peaks")
echo "Machine: $(nproc) cores, $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs);" \
  "$(grep -m1 '^flags' /proc/cpuinfo | grep -oE '\b(avx2|avx_vnni|avx512_vnni|avx512_bf16|amx_int8)\b' |
    sort -u | xargs); peaks per core: $peaks; load $(cut -d' ' -f1 /proc/loadavg)"

for threads in 1 2; do
  header "Full logits, 128 tokens, threads: $threads"
  for shape in 0.5b:dream:Q4_0 0.5b:dream:Q8_0 0.5b:dream:Q4_K_M 29m:dream:Q8_0 29m:dream:Q4_0 \
    7b-layer:dream:Q4_K; do
    IFS=: read -r name arch type <<< "$shape"
    row "$name $type" "--peak $compute" "$(model "$name" "$arch" "$type")" forward --tokens 128 \
      --rows all --threads "$threads" --reps 3
  done
  header "Prompt of 128 tokens, logits of the last row, threads: $threads"
  for shape in 0.5b:qwen2:Q4_0 29m:qwen2:Q8_0; do
    IFS=: read -r name arch type <<< "$shape"
    row "$name $type" "--peak $compute" "$(model "$name" "$arch" "$type")" forward --tokens 128 \
      --rows last --threads "$threads" --reps 3
  done
  header "Decode, 32 tokens behind 128, threads: $threads"
  for shape in 0.5b:qwen2:Q4_0 0.5b:qwen2:Q8_0 29m:qwen2:Q8_0 29m:qwen2:Q4_0; do
    IFS=: read -r name arch type <<< "$shape"
    file=$(model "$name" "$arch" "$type")
    row "$name $type" "--bytes $(stat -Lc %s "$file") --bandwidth $bandwidth" "$file" decode \
      --tokens 32 --prompt 128 --threads "$threads" --reps 2
  done
done

# A neighbour that keeps one of the two cores busy: chunks handed out one by one and waiting without
# spinning are what must show here.
taskset -c 1 bash -c 'while :; do :; done' &
neighbour=$!
trap 'kill "$neighbour" 2> /dev/null || true' EXIT
header "Full logits, 128 tokens, threads: 2, one core kept busy by a neighbour"
row "0.5b Q4_0" "--peak $compute" "$(model 0.5b dream Q4_0)" forward --tokens 128 --rows all \
  --threads 2 --reps 2
row "29m Q8_0" "--peak $compute" "$(model 29m dream Q8_0)" forward --tokens 128 --rows all \
  --threads 2 --reps 3
kill "$neighbour"
trap - EXIT

header "Diffusion loop, 128 tokens behind 16, the peer's tokens per forward, threads: 1"
row "29m Q8_0, 32 steps" "--peak $compute" "$(model 29m dream Q8_0)" denoise --tokens 128 \
  --prompt 16 --steps 32 --threads 1 --reps 1
row "0.5b Q4_0, 16 steps" "--peak $compute" "$(model 0.5b dream Q4_0)" denoise --tokens 128 \
  --prompt 16 --steps 16 --threads 1 --reps 1

if [[ -n "$plain_peer" ]]; then
  # What machines without tiles run, on both sides.
  engine="env RUVD_KERNELS=avx512-vnni $engine" peer=$plain_peer compute=$(number int8_gops <<< "$peaks")
  header "Without tiles: full logits, 128 tokens, threads: 1"
  for shape in 0.5b:dream:Q4_0 0.5b:dream:Q8_0 0.5b:dream:Q4_K_M 29m:dream:Q8_0 29m:dream:Q4_0; do
    IFS=: read -r name arch type <<< "$shape"
    row "$name $type" "--peak $compute" "$(model "$name" "$arch" "$type")" forward --tokens 128 \
      --rows all --threads 1 --reps 3
  done
  header "Without tiles: decode, 32 tokens behind 128, threads: 1"
  for shape in 0.5b:qwen2:Q4_0 0.5b:qwen2:Q8_0 29m:qwen2:Q8_0 29m:qwen2:Q4_0; do
    IFS=: read -r name arch type <<< "$shape"
    file=$(model "$name" "$arch" "$type")
    row "$name $type" "--bytes $(stat -Lc %s "$file") --bandwidth $bandwidth" "$file" decode \
      --tokens 32 --prompt 128 --threads 1 --reps 2
  done
  header "Without tiles: diffusion loop, 128 tokens behind 16, 32 steps, threads: 1"
  row "29m Q8_0" "--peak $compute" "$(model 29m dream Q8_0)" denoise --tokens 128 --prompt 16 \
    --steps 32 --threads 1 --reps 1
  engine=${engine#env RUVD_KERNELS=avx512-vnni }
fi

printf '\n### Ours alone\n\n'
trained=deploy/models/ruvdllm-29m.q8_0.gguf
for command in \
  "denoise --model $trained --tokens 128 --block 16" \
  "denoise --model $trained --tokens 128 --block 16 --threshold 0.9" \
  "denoise --model $trained --tokens 64 --steps 1" \
  "forward --model $trained --tokens 64 --rows masked:32" \
  "forward --model $trained --tokens 64 --rows masked:32 --adapter-rank 16" \
  "forward --model $(model 0.5b dream Q4_0) --tokens 128 --rows masked:64"; do
  echo "    engine $command"
  # shellcheck disable=SC2086  # several words
  echo "    $("$engine" $command)"
done
