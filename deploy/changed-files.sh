#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the files that a change adds or edits, one per line: what is committed since a base, what is
# not committed yet, and new files. The base is the first of these that exists: --since, the
# environment variable RUVD_CHANGE_BASE, the commit at which HEAD left origin/main (unless it is HEAD
# itself), the newest commit that was made a day or more before HEAD, the commit before HEAD.
#
#   deploy/changed-files.sh [--since COMMIT] [PATTERN...]
#
#   --since COMMIT   what the change is compared with
#   PATTERN          only files of these patterns, such as '*.h' (default: all)
#
# Exits with 3 if the history holds no base, as in a clone of depth 1.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '5,15s/^# \{0,1\}//p' deploy/changed-files.sh; }
fail() { echo "changed-files.sh: $1" >&2; exit 2; }
commit() { git rev-parse --verify --quiet "$1^{commit}"; }

since=${RUVD_CHANGE_BASE:-}
patterns=()
while [ $# -gt 0 ]; do
  case "$1" in
    --since)
      [ $# -ge 2 ] || fail "--since needs a commit; see --help"
      since=$2
      shift ;;
    -h | --help) usage; exit 0 ;;
    -*) fail "unknown argument $1; see --help" ;;
    *) patterns+=("$1") ;;
  esac
  shift
done

if [ -n "$since" ]; then
  base=$(commit "$since") || fail "there is no commit $since; name another with --since, or fetch it"
else
  base=$(git merge-base HEAD origin/main 2> /dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(commit HEAD)" ]; then
    # A change is often several commits, of which the last one may touch documents only.
    day_before=$(($(git log -1 --format=%ct HEAD) - 24 * 3600))
    base=$(git rev-list -1 --before="$day_before" HEAD)
    [ -n "$base" ] || base=$(commit HEAD~1) || {
      echo "changed-files.sh: the history has no commit before HEAD; fetch more of it, or use --since" >&2
      exit 3
    }
  fi
fi

{ git diff --name-only --diff-filter=d "$base" -- "${patterns[@]}"
  git ls-files --others --exclude-standard -- "${patterns[@]}"; } | LC_ALL=C sort -u
