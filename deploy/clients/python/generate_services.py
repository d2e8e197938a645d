# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the type hints of all services as Python; generate.sh calls it with a set of descriptors.

Each service becomes two protocols: one of the stubs of Client, and one of those of AsyncClient.
"""

import sys
import textwrap

from google.protobuf import descriptor_pb2

SERVICE, METHOD = 6, 2  # numbers of fields, by which descriptors say where a comment stands


def comments(file):
    """Returns the comments that stand before the services and methods of a file, by their paths."""
    return {tuple(place.path): " ".join(place.leading_comments.split())
            for place in file.source_code_info.location if place.leading_comments}


def type_of(name):
    """Returns a message type such as ".ruvd.node.v1.GetStatusRequest" as Python names it here."""
    package, version, message = name.lstrip(".").split(".", 1)[1].split(".", 2)
    assert version == "v1" and "." not in message, name
    return f"{package}_pb2.{message}"


def kind_of(method):
    if method.client_streaming and method.server_streaming:
        raise SystemExit(f"{method.name} streams both ways, which ruvdllm/calls.py does not have yet")
    return ("Stream" if method.client_streaming else "Unary") + (
        "Stream" if method.server_streaming else "Unary")


def written(text, indent):
    """Returns a docstring."""
    filled = textwrap.fill(text.replace("\\", ""), 99 - len(indent), initial_indent=indent + '"""',
                           subsequent_indent=indent)
    return filled + ('"""' if "\n" not in filled and len(filled) < 97 else f'\n{indent}"""')


def main():
    with open(sys.argv[1], "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
    files = [file for file in files if file.package.startswith("ruvd.")]
    print('"""The services of a node and the types of their methods."""\n')
    print("from __future__ import annotations\n")
    print("from typing import Protocol\n")
    print("from ruvdllm import async_calls, calls")
    for file in files:
        name = file.package.split(".")[1]
        print(f"from ruvd.{name}.v1 import {name}_pb2")
    for file in files:
        said = comments(file)
        for number, service in enumerate(file.service):
            for prefix, module in (("", "calls"), ("Async", "async_calls")):
                print(f"\n\nclass {prefix}{service.name}(Protocol):")
                print(written(said[(SERVICE, number)], "    "))
                for place, method in enumerate(service.method):
                    print(f"\n    {method.name}: {module}.{kind_of(method)}[\n"
                          f"        {type_of(method.input_type)}, {type_of(method.output_type)}]")
                    print(written(said[(SERVICE, number, METHOD, place)], "    "))


main()
