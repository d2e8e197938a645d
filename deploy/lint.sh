#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks format (clang-format 19, every file) and clang-tidy 19 (files changed since a base, or all).
# Every finding is an error.
#
# usage: deploy/lint.sh [--format] [--all] [--since COMMIT] [--build FOLDER] [--jobs N] [FILE.cc...]
#   --format        only the format of every file; no build folder is needed
#   --all           clang-tidy over every source file, not only the changed ones
#   --since COMMIT  what "changed" is compared with (default: as in deploy/changed-files.sh)
#   --build FOLDER  a configured build with compile_commands.json (default: build/release)
#   --jobs N        clang-tidy processes at a time (default: number of cores)
#   FILE.cc         only these files
set -euo pipefail
cd "$(dirname "$0")/.."

format=false all=false since="" build=build/release jobs="$(nproc)" named=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --format) format=true ;;
    --all) all=true ;;
    --since | --build | --jobs)
      [[ $# -ge 2 ]] || { echo "lint.sh: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" '%s' "$2"
      shift ;;
    -*) echo "lint.sh: unknown option $1; see the head of this file" >&2; exit 2 ;;
    *) named+=("$1") ;;
  esac
  shift
done

needed=(clang-format-19)
$format || needed+=(clang-tidy-19)
for tool in "${needed[@]}"; do
  command -v "$tool" > /dev/null || { echo "lint.sh: $tool is missing; install it with apt" >&2; exit 1; }
done

# Lists tracked and new files, without those that git ignores.
sources() { git ls-files --cached --others --exclude-standard -- "$@" | LC_ALL=C sort -u; }

if [[ ${#named[@]} -gt 0 ]]; then
  formatted=("${named[@]}")
else
  mapfile -t formatted < <(sources '*.h' '*.cc')
fi
clang-format-19 --dry-run -Werror "${formatted[@]}"
echo "clang-format: ${#formatted[@]} files are formatted"
if $format; then
  exit 0
fi

if [[ ! -f "$build/compile_commands.json" ]]; then
  echo "lint.sh: $build has no compile_commands.json; run: cmake --preset release" >&2
  exit 1
fi

# clang cannot read the precompiled headers of g++, and finds their text without them.
database="$(mktemp -d)"
trap 'rm -rf "$database"' EXIT
sed -E 's# -Winvalid-pch##g; s# -fpch-preprocess##g; s# -include [^ ]*/cmake_pch\.hxx##g' \
  "$build/compile_commands.json" > "$database/compile_commands.json"

# clang-tidy checks a header through a source that includes it; for a changed header this is the
# source with the same name.
changed() {
  ./deploy/changed-files.sh ${since:+--since "$since"} '*.h' '*.cc' | sed 's/\.h$/.cc/' | LC_ALL=C sort -u
}
if [[ ${#named[@]} -gt 0 ]]; then
  candidates=("${named[@]}")
elif $all; then
  mapfile -t candidates < <(sources '*.cc')
else
  names=$(changed) || exit 2  # the exit status of a process substitution would be lost
  mapfile -t candidates <<< "$names"
fi
checked=()
for file in "${candidates[@]}"; do
  # Some targets, such as fuzz targets, are not part of every build.
  if [[ -f "$file" ]] && grep -qF "\"file\": \"$PWD/$file\"" "$database/compile_commands.json"; then
    checked+=("$file")
  fi
done
if [[ ${#checked[@]} -eq 0 ]]; then
  echo "clang-tidy: nothing to check"
  exit 0
fi
# The build may use g++, which has warning names that clang does not know.
printf '%s\0' "${checked[@]}" |
  xargs -0 -n 1 -P "$jobs" clang-tidy-19 --quiet -p "$database" \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations 2> >(grep -v ' warnings\? generated' >&2 || true)
echo "clang-tidy: ${#checked[@]} files are clean"
