# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Embeds texts, stores them as patterns, finds the ones that are like a query, and deletes them.

A key needs the role admin to delete patterns.
"""

from connect import run
from ruvdllm import inference, items, pattern, privacy, retrying

TEXTS = ["a boat in the storm", "a recipe for bread", "waves at the harbour"]
TASK = "example"


def search(node):
    # A node whose queue is full says when to try again.
    answer = retrying(lambda: node.inference.Embed(inference.EmbedRequest(texts=TEXTS)))
    stored = {}
    for text, embedding in zip(TEXTS, answer.embeddings):
        made = pattern.Pattern(embedding=pattern.Embedding(values=embedding.values), task=TASK,
                               quality=1, examples=1, tier=privacy.SHARING_TIER_PRIVATE)
        request = pattern.UpsertPatternRequest(pattern=made, model_package=answer.model_package)
        stored[node.pattern.UpsertPattern(request).pattern.id] = text
    query = pattern.SearchPatternsRequest(text="a ship on the sea", k=2,
                                          filter=pattern.PatternFilter(task=TASK))
    for hit in node.pattern.SearchPatterns(query).hits:
        print(f"{hit.similarity:.3f} {stored.get(hit.pattern.id, 'an older pattern')}")
    # items() asks for page after page.
    listed = pattern.ListPatternsRequest(page_size=2, filter=pattern.PatternFilter(task=TASK))
    for one in list(items(node.pattern.ListPatterns, listed)):
        node.pattern.DeletePattern(pattern.DeletePatternRequest(id=one.id))


if __name__ == "__main__":
    run(search, __doc__.splitlines()[0])
