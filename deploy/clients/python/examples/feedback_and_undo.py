# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Corrects a completion, from which the node learns, and undoes what it learned.

A key needs the role admin to undo a change.
"""

from connect import run
from ruvdllm import Error, learning, retrying

CORRECTION = " that the second power supply has failed."


def correct(node):
    completion = node.generate_text("The blue lamp above the rack means", max_tokens=16)
    print(f"before: {completion.read()!r}")
    # If the call is repeated, the node still learns the correction once.
    answer = retrying(lambda: node.feedback(completion.response_id, edited_text=CORRECTION))
    print(f"learned: {answer.learned}. {answer.explanation}")
    for change in answer.changes:
        print(f"changed: {learning.ChangeKind.Name(change.kind)}")
    if not answer.undo_token:
        return
    undone = node.undo(answer.undo_token)  # the last change; the lesson goes with it
    print(f"undone: {learning.ChangeKind.Name(undone.kind)}")
    try:
        node.undo(answer.undo_token)
    except Error as error:
        print(f"undone twice: {error.reason}")


if __name__ == "__main__":
    run(correct, __doc__.splitlines()[0])
