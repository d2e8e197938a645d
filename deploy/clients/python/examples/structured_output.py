# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Holds completions to a JSON schema, to a regular expression, and to choices."""

import json

from connect import run
from ruvdllm import Error, inference

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12},
                   "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
}


def show(node):
    guest = node.generate_text("Who came?", json_schema=SCHEMA, max_tokens=60, seed=7)
    text = guest.read()
    # A completion that max_tokens cuts off is no whole JSON.
    if guest.finished.reason == inference.FINISH_REASON_END_OF_TEXT:
        print("schema:", json.loads(text))
    print("regex:", node.generate_text("It is ", regex="[0-9]{1,2} o'clock").read())
    print("choice:", node.generate_text("The man came", choices=[" by boat", " on foot"]).read())
    try:
        node.generate_text("Who?", json_schema={"type": "string", "pattern": "a+"})
    except Error as error:
        print("refused:", error)


if __name__ == "__main__":
    run(show, __doc__)
