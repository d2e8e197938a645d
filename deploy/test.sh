#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds and runs the tests; ends with ctest's summary.
#
#   deploy/test.sh [--preset dev|release|asan-ubsan|tsan|coverage] [-L LABEL] [-R NAMES]
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '5,7s/^# \{0,1\}//p' deploy/test.sh; }

preset=release
selection=()
while [ $# -gt 0 ]; do
  case "$1" in
    --preset | -L | -R)
      if [ $# -lt 2 ]; then
        echo "test.sh: $1 needs a value; see --help" >&2
        exit 2
      fi
      if [ "$1" = --preset ]; then preset=$2; else selection+=("$1" "$2"); fi
      shift 2
      ;;
    -h | --help) usage; exit 0 ;;
    *) echo "test.sh: unknown argument $1; see --help" >&2; exit 2 ;;
  esac
done

./deploy/install-deps.sh
cmake --preset "$preset"
cmake --build --preset "$preset" -j "$(nproc)"
ctest --preset "$preset" -j "$(nproc)" "${selection[@]}"
