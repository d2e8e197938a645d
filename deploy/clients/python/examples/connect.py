# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The flags that all examples have, which are those of `ruvd`."""

import argparse
import pathlib
import sys

from ruvdllm import Client, Error


def run(example, description):
    """Calls `example` with a client of the node that the flags name."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--server", default="127.0.0.1:7420", help="HOST:PORT, or unix:PATH")
    parser.add_argument("--key-file", type=pathlib.Path, help="file that holds the key alone")
    parser.add_argument("--tls-ca", help="PEM file of the node's certificate or its authority")
    flags = parser.parse_args()
    key = flags.key_file.read_text(encoding="ascii").strip() if flags.key_file else None
    try:
        with Client(flags.server, key, flags.tls_ca) as node:
            example(node)
    except Error as error:
        sys.exit(f"{error.code().name}: {error}")
