#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# From a clean clone to a running cluster on this machine.
#
#   deploy/quickstart.sh           install, build, start the demo cluster until Ctrl-C
#   deploy/quickstart.sh --check   the scripted tour instead: every step printed with its result;
#                                  exit code 0 only if all of them hold
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '5,9s/^# \{0,1\}//p' deploy/quickstart.sh; }

verb=demo
case "${1:-}" in
  "") ;;
  --check) verb=tour ;;
  -h | --help) usage; exit 0 ;;
  *) echo "quickstart.sh: unknown argument $1; see --help" >&2; exit 2 ;;
esac

./deploy/install-deps.sh
# deploy/test.sh uses the same build folder; this builds only the program.
cmake --preset release
cmake --build --preset release -j "$(nproc)" --target ruvd
exec ./build/release/node/ruvd "$verb"
