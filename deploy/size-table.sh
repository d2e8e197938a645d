#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints which C++ files have more than 500 lines and which functions more than 60. It reports and
# does not fail: the author of a larger one explains it in review.
#
# usage: deploy/size-table.sh [FOLDER...]     (default: every room, tests and bench)
set -euo pipefail
cd "$(dirname "$0")/.."

readonly max_file_lines=500
readonly max_function_lines=60

folders=("$@")
if [[ ${#folders[@]} -eq 0 ]]; then
  folders=(base privacy storage inference federation node tests bench)
fi
existing=()
for folder in "${folders[@]}"; do
  [[ -e "$folder" ]] && existing+=("$folder")
done
mapfile -t files < <(find "${existing[@]}" \( -name '*.h' -o -name '*.cc' \) -type f | LC_ALL=C sort)

echo "files over ${max_file_lines} lines (of ${#files[@]}):"
awk -v max="$max_file_lines" '
  FNR == 1 && NR > 1 { report() }
  { name = FILENAME; lines = FNR }
  function report() { if (lines > max) { printf "%7d  %s\n", lines, name; found = 1 } }
  END { report(); if (!found) print "   none" }' "${files[@]}"

echo
echo "functions over ${max_function_lines} lines:"
# This awk program follows the braces of the code without comments and literals. A brace opens a
# container (namespace, class, ...), a function (the outermost other block), or a block inside a
# function.
awk -v max="$max_function_lines" '
  FNR == 1 { depth = 0; statement = ""; start = 0; in_comment = 0; raw = ""; inside = 0 }
  {
    line = $0
    if (raw != "") {
      end = index(line, raw)
      if (end == 0) next
      line = substr(line, end + length(raw)); raw = ""
    }
    if (in_comment) {
      end = index(line, "*/")
      if (end == 0) next
      line = substr(line, end + 2); in_comment = 0
    }
    if (match(line, /R"[A-Za-z_]*\(/)) {
      close_mark = ")" substr(line, RSTART + 2, RLENGTH - 3) "\""
      rest = substr(line, RSTART + RLENGTH)
      if (index(rest, close_mark) == 0) { raw = close_mark; line = substr(line, 1, RSTART - 1) }
    }
    gsub(/"(\\.|[^"\\])*"/, "\"\"", line)
    gsub(/\047(\\.|[^\047\\])\047/, "0", line)
    sub(/\/\/.*/, "", line)
    gsub(/\/\*[^*]*\*\//, "", line)
    if ((begin = index(line, "/*")) > 0) { line = substr(line, 1, begin - 1); in_comment = 1 }
    if (line ~ /^[ \t]*#/) next
    count = length(line)
    for (i = 1; i <= count; ++i) {
      c = substr(line, i, 1)
      if (c == "{") {
        container = !inside && statement ~ /(^|[^A-Za-z_])(namespace|class|struct|union|enum|extern)([^A-Za-z_(][^()]*)?$/
        value = !inside && statement ~ /[=,][ \t]*$/
        kind[++depth] = container ? "c" : "b"
        if (!container && !inside) { inside = depth; first = start ? start : FNR; label = statement; is_value = value }
        statement = ""; start = 0
      } else if (c == "}") {
        if (depth == inside && inside) {
          size = FNR - first + 1
          if (size > max && !is_value) {
            gsub(/[ \t]+/, " ", label); sub(/^ /, "", label)
            printf "%7d  %s:%d  %s\n", size, FILENAME, first, substr(label, 1, 80); found = 1
          }
          inside = 0
        }
        if (depth > 0) --depth
        statement = ""; start = 0
      } else if (c == ";" && !inside) {
        statement = ""; start = 0
      } else if (!inside) {
        if (!start && c !~ /[ \t]/) start = FNR
        statement = statement c
      }
    }
    if (!inside) {
      if (statement ~ /^[ \t]*(public|private|protected):[ \t]*$/) { statement = ""; start = 0 }
      statement = statement " "
    }
  }
  END { if (!found) print "   none" }' "${files[@]}"
