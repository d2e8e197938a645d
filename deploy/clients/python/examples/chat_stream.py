# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Streams the answer to a conversation."""

from connect import run


def chat(node):
    messages = [("user", "The little boat left the harbour. What did the sailors see?")]
    # The models that ship have no chat template, so the request names one.
    with node.generate_text(messages, chat_format="plain", max_tokens=48, temperature=0.7,
                            seed=7) as answer:
        for text in answer:
            print(text, end="", flush=True)
        usage = answer.finished.usage
    print(f"\n[{usage.completion_tokens} tokens, seed {answer.finished.seed}, response {answer.response_id}]")


if __name__ == "__main__":
    run(chat, __doc__)
