# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The lines that a program of checks prints, and what it knows of the node.

Each check is one line: "ok NAME", "FAILED NAME: why" or "skipped NAME: why". A line "text NAME JSON" says
what a transport got for the conversation that all have; the runner compares these.
"""

import json
import sys
import traceback


class Skip(Exception):
    """A check that cannot be made here."""


def one_line(text):
    return " ".join(str(text).split())[:400]


def ok(name):
    print(f"ok {name}", flush=True)


def failed(name, why):
    print(f"FAILED {name}: {one_line(why)}", flush=True)


def skipped(name, why):
    print(f"skipped {name}: {one_line(why)}", flush=True)


def text(name, got):
    print(f"text {name} {json.dumps(got)}", flush=True)


def equal(got, wanted, what="the value"):
    if got != wanted:
        raise AssertionError(f"{what} is {got!r}, not {wanted!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)


def check(name, function, *arguments):
    """Runs one check and prints its line."""
    try:
        function(*arguments)
    except Skip as why:
        skipped(name, why)
    except Exception as why:  # pylint: disable=broad-except
        place = traceback.extract_tb(why.__traceback__)[-1]
        failed(name, f"{type(why).__name__}: {why} ({place.filename.rsplit('/', 1)[-1]}:{place.lineno})")
    else:
        ok(name)


def facts():
    """Returns what the runner wrote about the node."""
    with open(sys.argv[1], encoding="utf-8") as file:
        return json.load(file)
