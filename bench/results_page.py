#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes bench/RESULTS.md from bench/results/*.json, or checks that it is what would be made.

bench/results/README.md describes the files. Every error names the file and the field.

usage: bench/results_page.py [--check]
  --check  writes nothing; fails where a file breaks the schema, where the page is not what would be
           made, and where it is longer than 300 lines
"""

import argparse
import datetime
import json
import pathlib
import re
import sys
from decimal import Decimal

BENCH = pathlib.Path(__file__).resolve().parent
RESULTS = BENCH / "results"
PAGE = BENCH / "RESULTS.md"
MOST_LINES = 300
PARTS = ("Serving", "Learning", "Federation and privacy", "Stores and search")
VERDICTS = ("met", "met in the mean", "not met", "not shown")

HEAD = """\
<!--
SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
SPDX-License-Identifier: Apache-2.0
-->

# Benchmark results

`bench/results_page.py` generates this page from `bench/results/*.json`, which hold every figure,
the setup and the notes; [bench/results/README.md](results/README.md) says how to add an experiment.
Each section has the claim, the verdicts on the targets, the command and the key figures. An interval
stands in parentheses. CPU time comes first, because the machines are shared.
`cmake --preset bench && cmake --build --preset bench` builds the programs.
"""


class Broken(Exception):
    """A file breaks the schema, at a field."""


def fail(where, why):
    raise Broken(f"{where}: {why}")


# The schema ---------------------------------------------------------------------------------------


def is_number(value):
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def check_text(where, value):
    if not isinstance(value, str) or not value.strip():
        fail(where, "must be a text that is not empty")
    if value != value.strip() or "\n" in value:
        fail(where, "must be one line without blanks at its ends")


def check_sentences(where, value):
    check_text(where, value)
    if value[-1] not in ".?!":
        fail(where, "must end with a full stop")


def check_list(where, value, check, least=0):
    if not isinstance(value, list) or len(value) < least:
        fail(where, f"must be a list of at least {least}")
    for at, element in enumerate(value):
        check(f"{where}[{at}]", element)


def check_fields(where, value, required, optional=()):
    if not isinstance(value, dict):
        fail(where, "must be an object")
    for name in required:
        if name not in value:
            fail(where, f"lacks the field '{name}'")
    for name in value:
        if name not in required and name not in optional:
            fail(f"{where}.{name}", "is no field of the schema")


def check_figure(where, value):
    """A text, a number, null, or an object of value, low, high and unit."""
    if value is None or is_number(value):
        return
    if isinstance(value, str):
        check_text(where, value)
        return
    check_fields(where, value, (), ("value", "low", "high", "unit"))
    for name in ("value", "low", "high"):
        if name in value and not is_number(value[name]):
            fail(f"{where}.{name}", "must be a number")
    if ("low" in value) != ("high" in value):
        fail(where, "must have both of 'low' and 'high' or neither")
    if "value" not in value and "low" not in value:
        fail(where, "needs 'value', or 'low' and 'high'")
    if "low" in value:
        middle = value.get("value", value["low"])
        if not value["low"] <= middle <= value["high"]:
            fail(where, "must have low <= value <= high")
    if "unit" in value:
        check_text(f"{where}.unit", value["unit"])


def check_column(where, value):
    if isinstance(value, str):
        check_text(where, value)
        return
    check_fields(where, value, ("name",), ("unit", "signed"))
    check_text(f"{where}.name", value["name"])
    if "unit" in value:
        check_text(f"{where}.unit", value["unit"])
    if value.get("signed", True) is not True:
        fail(f"{where}.signed", "must be true where it is given")


def column_name(column):
    return column if isinstance(column, str) else column["name"]


def has_interval(figure):
    return isinstance(figure, dict) and "low" in figure


def check_rows(where, table):
    width = len(table["columns"])
    for at, row in enumerate(table["rows"]):
        here = f"{where}.rows[{at}]"
        if not isinstance(row, list) or len(row) != width:
            fail(here, f"must be a list of {width} cells, one for each column")
        check_text(f"{here}[0]", row[0])
        for column, cell in enumerate(row):
            check_figure(f"{here}[{column}]", cell)
    if any(has_interval(cell) for row in table["rows"] for cell in row) != ("interval" in table):
        fail(f"{where}.interval", "must say what the intervals are, exactly where cells have some")


def check_headline(where, table):
    headline = table["headline"]
    check_fields(where, headline, ("rows", "columns"))
    labels = [row[0] for row in table["rows"]]
    names = [column_name(column) for column in table["columns"]]
    for field, known in (("rows", labels), ("columns", names[1:])):
        check_list(f"{where}.{field}", headline[field], check_text, 1)
        for at, name in enumerate(headline[field]):
            if known.count(name) != 1:
                fail(f"{where}.{field}[{at}]", f"'{name}' must name exactly one of the {field}")


def check_table(where, value):
    check_fields(where, value, ("title", "columns", "rows"), ("command", "interval", "headline"))
    check_text(f"{where}.title", value["title"])
    for name in ("command", "interval"):
        if name in value:
            check_text(f"{where}.{name}", value[name])
    check_list(f"{where}.columns", value["columns"], check_column, 2)
    check_list(f"{where}.rows", value["rows"], lambda where, row: None, 1)
    check_rows(where, value)
    if "headline" in value:
        check_headline(f"{where}.headline", value)


def check_target(where, value):
    check_fields(where, value, ("target", "figure", "verdict"))
    check_text(f"{where}.target", value["target"])
    check_figure(f"{where}.figure", value["figure"])
    if value["figure"] is None:
        fail(f"{where}.figure", "must not be null")
    if value["verdict"] not in VERDICTS:
        fail(f"{where}.verdict", f"must be one of {', '.join(VERDICTS)}")


def check_experiment(where, value):
    fields = ("title", "date", "part", "claim", "commands", "setup", "tables", "targets", "notes")
    check_fields(where, value, fields)
    check_text(f"{where}: title", value["title"])
    try:
        datetime.date.fromisoformat(value["date"])
    except (TypeError, ValueError):
        fail(f"{where}: date", "must be YYYY-MM-DD")
    if value["part"] not in PARTS:
        fail(f"{where}: part", f"must be one of {', '.join(PARTS)}")
    check_sentences(f"{where}: claim", value["claim"])
    if re.search(r"[.?!] ", value["claim"]):
        fail(f"{where}: claim", "must be one sentence")
    check_list(f"{where}: commands", value["commands"], check_text, 1)
    check_list(f"{where}: setup", value["setup"], check_sentences, 1)
    check_list(f"{where}: tables", value["tables"], check_table, 1)
    check_list(f"{where}: targets", value["targets"], check_target)
    check_list(f"{where}: notes", value["notes"], check_sentences)
    headlines = sum("headline" in table for table in value["tables"])
    if headlines > 1 or (headlines == 0 and not value["targets"]):
        fail(f"{where}: tables", "exactly one must have a 'headline', or none beside 'targets'")


# The page -----------------------------------------------------------------------------------------


def number_text(number, signed=False):
    grouped = isinstance(number, int) and abs(number) >= 1000
    return f"{number:{'+' if signed else ''}{',' if grouped else ''}}"


def figure_text(figure, signed=False):
    """The figure as it stands in a cell, with its own unit if it has one."""
    if figure is None:
        return ""
    if isinstance(figure, str):
        return figure.replace("|", "\\|")
    if is_number(figure):
        return number_text(figure, signed)
    text = number_text(figure["value"], signed) if "value" in figure else ""
    if has_interval(figure):
        low, high = number_text(figure["low"], signed), number_text(figure["high"], signed)
        text = f"{text} ({low} to {high})" if text else f"{low} to {high}"
    return f"{text} {figure.get('unit', '')}".rstrip()


def measured_text(figure):
    """The figure of a target, which stands in parentheses itself."""
    unit = figure.get("unit", "") if isinstance(figure, dict) else ""
    if has_interval(figure) and "value" in figure:
        value, low, high = (number_text(figure[name]) for name in ("value", "low", "high"))
        return f"{value} {unit}".rstrip() + f", {low} to {high}"
    return figure_text(figure)


def table_line(cells):
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def headline_lines(table):
    """The marked rows and columns; the upper left cell says what the table is."""
    names = [column_name(column) for column in table["columns"]]
    shown = [names.index(name) for name in table["headline"]["columns"]]
    columns = [table["columns"][at] for at in shown]
    columns = [{"name": column} if isinstance(column, str) else column for column in columns]
    rows = [row for row in table["rows"] if row[0] in table["headline"]["rows"]]
    title = table["title"]
    if any(has_interval(row[at]) for row in rows for at in shown):
        title += f" ({table['interval']})"
    heads = (f"{column['name']}, {column['unit']}" if "unit" in column else column["name"]
             for column in columns)
    yield table_line([title, *heads])
    yield "|---" * (len(shown) + 1) + "|"
    for row in rows:
        cells = (figure_text(row[at], "signed" in column) for at, column in zip(shown, columns))
        yield table_line([row[0].replace("|", "\\|"), *cells])


def verdict_lines(experiment):
    for verdict in VERDICTS:
        targets = [target for target in experiment["targets"] if target["verdict"] == verdict]
        if targets:
            texts = [f"{target['target']} (measured {measured_text(target['figure'])})"
                     for target in targets]
            yield f"- **{verdict}**: {'; '.join(texts)}"


def heading(experiment):
    return f"{experiment['title']}, {experiment['date']}"


def anchor(text):
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def experiment_lines(name, experiment):
    yield f"## {heading(experiment)}"
    yield experiment["claim"]
    yield from verdict_lines(experiment)
    yield f"- `{experiment['commands'][0]}` ([all figures](results/{name}.json))"
    for table in experiment["tables"]:
        if "headline" in table:
            yield ""
            yield from headline_lines(table)


def page_text(experiments):
    lines = HEAD.splitlines() + [""]
    for part in PARTS:
        links = [f"[{experiment['title']}](#{anchor(heading(experiment))})"
                 for _, experiment in experiments if experiment["part"] == part]
        lines.append(f"- **{part}**: {' · '.join(links)}")
    for name, experiment in experiments:
        lines.append("")
        lines.extend(experiment_lines(name, experiment))
    return "\n".join(lines) + "\n"


# Files --------------------------------------------------------------------------------------------


def unique_fields(pairs):
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"a field comes twice: {next(n for n in names if names.count(n) > 1)}")
    return fields


def read(path):
    """One experiment; decimals keep the digits that the file has."""
    where = f"bench/results/{path.name}"
    if not re.fullmatch(r"[a-z0-9-]+", path.stem):
        fail(where, "must have a name of small letters, digits and dashes")
    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text, parse_float=Decimal, object_pairs_hook=unique_fields)
    except (OSError, ValueError) as error:
        fail(where, f"cannot be read: {error}")
    check_experiment(where, value)
    return path.stem, value


def read_all():
    """All experiments in the order of the page: by part, then newest first, then by title."""
    experiments = [read(path) for path in sorted(RESULTS.glob("*.json"))]
    if not experiments:
        fail("bench/results", "has no JSON file")
    titles = {}
    for name, experiment in experiments:
        other = titles.setdefault(experiment["title"], name)
        if other != name:
            fail(f"bench/results/{name}.json: title", f"is that of {other}.json, too")
    experiments.sort(key=lambda item: item[1]["title"])
    experiments.sort(key=lambda item: item[1]["date"], reverse=True)
    experiments.sort(key=lambda item: PARTS.index(item[1]["part"]))
    return experiments


def compare(text):
    try:
        present = PAGE.read_text(encoding="utf-8")
    except OSError as error:
        fail("bench/RESULTS.md", f"cannot be read: {error}; run: bench/results_page.py")
    if present == text:
        return
    pairs = zip(present.splitlines() + [""], text.splitlines() + [""])
    line = next((at for at, (old, new) in enumerate(pairs, 1) if old != new), 1)
    fail("bench/RESULTS.md", f"is not what bench/results/*.json make, from line {line} on; "
         "run: bench/results_page.py")


def main():
    parser = argparse.ArgumentParser(
        description="Makes bench/RESULTS.md from bench/results/*.json, as its head says.")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; fail where the page differs")
    options = parser.parse_args()
    try:
        text = page_text(read_all())
        lines = text.count("\n")
        if lines > MOST_LINES:
            fail("bench/RESULTS.md", f"would have {lines} lines, and {MOST_LINES} are the limit; "
                 "give fewer rows to 'headline' fields")
        if options.check:
            compare(text)
        else:
            PAGE.write_text(text, encoding="utf-8")
            print(f"bench/RESULTS.md: {lines} lines")
    except Broken as error:
        sys.exit(f"results_page.py: {error}")


if __name__ == "__main__":
    main()
