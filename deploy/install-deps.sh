#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing to build RuvDLLM on Debian 12, and nothing else. The only list of packages.
#
#   deploy/install-deps.sh           what building and testing need
#   deploy/install-deps.sh --dev     and the formatter, linter, fuzzing compiler and a peer to measure
#   deploy/install-deps.sh --check   only print what is missing; exit 1 if anything is
set -euo pipefail

build=(
  # compiler and tools
  ca-certificates cmake g++ git ninja-build pkg-config
  # wire and API
  libabsl-dev libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  # cryptography, storage, kernels
  libhwy-dev librocksdb-dev libsodium-dev libssl-dev libzstd-dev
  # configuration, command line, logs, metrics
  libcli11-dev libfmt-dev libspdlog-dev libtomlplusplus-dev nlohmann-json3-dev prometheus-cpp-dev
  # tests and benchmarks
  libbenchmark-dev libgmock-dev libgtest-dev librapidcheck-dev
)
# Faster builds; skipped where the distribution lacks them.
optional=(ccache mold)
# libhnswlib-dev: the peer that bench/ann measures beside our index, nothing else uses it.
dev=(clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev libhnswlib-dev shellcheck)

usage() { sed -n '5,9s/^# \{0,1\}//p' "$0"; }

check=no
wanted=("${build[@]}")
for argument in "$@"; do
  case "$argument" in
    --check) check=yes ;;
    --dev) wanted+=("${dev[@]}") ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install-deps.sh: unknown argument $argument; see --help" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query > /dev/null; then
  echo "install-deps.sh: dpkg-query is missing; use Debian 12 or install these by hand: ${wanted[*]}" >&2
  exit 1
fi

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }

missing=()
for package in "${wanted[@]}"; do
  installed "$package" || missing+=("$package")
done
missing_optional=()
for package in "${optional[@]}"; do
  installed "$package" || missing_optional+=("$package")
done

if [ "$check" = yes ]; then
  [ ${#missing[@]} -eq 0 ] || printf '%s\n' "${missing[@]}"
  [ ${#missing[@]} -eq 0 ]
  exit
fi
if [ ${#missing[@]} -eq 0 ] && [ ${#missing_optional[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    if [ ${#missing[@]} -eq 0 ]; then
      exit 0 # the optional ones are not worth a failure
    fi
    echo "install-deps.sh: run as root, or install sudo; missing: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"; }

if ! apt update; then
  if [ ${#missing[@]} -eq 0 ]; then
    exit 0
  fi
  echo "install-deps.sh: apt-get update failed; check the network and /etc/apt/sources.list" >&2
  exit 1
fi
for package in "${missing_optional[@]}"; do
  if apt-cache show "$package" > /dev/null 2>&1; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}"
  apt install -y --no-install-recommends "${missing[@]}" > /dev/null
fi
