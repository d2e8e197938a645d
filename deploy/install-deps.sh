#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the missing packages that RuvDLLM needs on Debian 12; no other file lists them.
#
#   deploy/install-deps.sh           installs what building and testing need
#   deploy/install-deps.sh --gate    also what the gate checks format and language and fuzzes with
#   deploy/install-deps.sh --dev     also the linters and hnswlib
#   deploy/install-deps.sh --check   only prints what is missing; exits with 1 if anything is
set -euo pipefail

build=(
  # compiler and tools
  ca-certificates cmake g++ git ninja-build pkg-config
  # wire and API
  libabsl-dev libboost1.81-dev libgrpc++-dev libprotobuf-dev libprotoc-dev protobuf-compiler protobuf-compiler-grpc
  # cryptography, storage, kernels
  libhwy-dev librocksdb-dev libsodium-dev libssl-dev libzstd-dev
  # configuration, command line, logs, metrics
  libcli11-dev libfmt-dev libspdlog-dev libtomlplusplus-dev nlohmann-json3-dev prometheus-cpp-dev
  # tests and benchmarks
  libbenchmark-dev libgmock-dev libgtest-dev librapidcheck-dev
)
# The gate checks format and the language of comments, too, fuzzes with clang, and tests the client for
# Python.
gate=(clang-19 clang-format-19 libclang-rt-19-dev python3 python3-grpcio python3-protobuf)
# These make builds faster; they are skipped if the distribution does not have them.
optional=(ccache mold)
# Only bench/ann uses libhnswlib-dev, which it compares with our index; campaigns with network
# namespaces (tests/campaign) need iproute2 and nftables.
dev=(clang-tidy-19 iproute2 libhnswlib-dev nftables shellcheck)

usage() { sed -n '5,10s/^# \{0,1\}//p' "$0"; }

check=no
wanted=("${build[@]}")
for argument in "$@"; do
  case "$argument" in
    --check) check=yes ;;
    --gate) wanted+=("${gate[@]}") ;;
    --dev) wanted+=("${gate[@]}" "${dev[@]}") ;;
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
      exit 0 # a missing optional package is not worth a failure
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
