# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Shows how masked diffusion fills a window: one line for each denoising step."""

from connect import run


def show(node):
    with node.generate_text("The little boat", frames=True, mode="diffusion", max_tokens=16, steps=8,
                            seed=7) as completion:
        window = ["_"] * completion.started.window
        for piece in completion:
            if isinstance(piece, str):
                continue  # the text comes in order, when all before it is certain
            for commit in piece.commits:
                window[commit.position] = commit.text
            print(f"step {piece.step}, {piece.masked:2} masked, t {piece.t:.2f}: {''.join(window)}")
    print(f"text: {completion.text!r}")


if __name__ == "__main__":
    run(show, __doc__)
