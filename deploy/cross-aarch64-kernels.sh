#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Cross-builds the integer kernels and their test for 64-bit Arm and runs them under qemu on
# processors with and without the dot product and I8MM. It is not part of the gate, because it needs
#   apt-get install g++-12-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static googletest
#
# usage: deploy/cross-aarch64-kernels.sh [BUILD_FOLDER]   (default: build/aarch64-kernels)
set -euo pipefail
cd "$(dirname "$0")/.."

build="${1:-build/aarch64-kernels}"
cxx=aarch64-linux-gnu-g++-12
qemu=qemu-aarch64-static
googletest=/usr/src/googletest/googletest
for tool in "$cxx" "$qemu"; do
  command -v "$tool" > /dev/null ||
    { echo "cross-aarch64-kernels.sh: $tool is missing; install what the head of this file lists" >&2; exit 1; }
done
[[ -d "$googletest" ]] ||
  { echo "cross-aarch64-kernels.sh: $googletest is missing; install googletest" >&2; exit 1; }

# The Abseil headers are equal for every processor. The link keeps the host's C library headers out
# of the include path.
mkdir -p "$build/include"
ln -sfn /usr/include/absl "$build/include/absl"

flags=(-std=c++20 -O2 -ffp-contract=off -Wall -Wextra -Werror -I. -isystem "$build/include")
compile() { # SOURCE FLAGS...
  local source="$1" object
  shift
  object="$build/$(basename "$source" .cc).o"
  echo "compiling $source"
  "$cxx" "${flags[@]}" "$@" -c "$source" -o "$object"
  objects+=("$object")
}

objects=()
kernels=inference/kernels
compile "$kernels/integer/scalar.cc"
compile "$kernels/integer/neon.cc"
compile "$kernels/integer/neon_dotprod.cc" -march=armv8.2-a+dotprod
compile "$kernels/integer/neon_i8mm.cc" -march=armv8.2-a+dotprod+i8mm
compile "$kernels/packing.cc"
compile base/cpu_features.cc
compile inference/gguf/types.cc
compile tests/inference/kernels_integer_test.cc -isystem "$googletest/include"
for part in gtest-all gtest_main; do
  compile "$googletest/src/$part.cc" -w -I "$googletest" -isystem "$googletest/include"
done
"$cxx" "${objects[@]}" -o "$build/kernels_integer_test"

for cpu in cortex-a53 cortex-a76 max; do
  echo "running on $cpu"
  "$qemu" -L /usr/aarch64-linux-gnu -cpu "$cpu" "$build/kernels_integer_test" --gtest_brief=1
done
