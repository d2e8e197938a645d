// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Embeds texts, keeps two of them as patterns that never leave the node, finds them again by a text
// and by an embedding, lists them page by page, and deletes them.
//
//   node examples/patterns.mjs "a storm at sea"

import { createRuvdClient, pages, withRetry } from "@ruvdllm/client";
import { SharingTier } from "@ruvdllm/client/privacy/v1";

const client = createRuvdClient({
  baseUrl: process.env.RUVD_NODE ?? "http://127.0.0.1:7422",
  key: process.env.RUVD_KEY,
});
const query = process.argv[2] ?? "a storm at sea";
const texts = ["The boat sailed home through the waves.", "She baked a cake with sugar and eggs."];
const task = "typescript-example";

const { embeddings, modelPackage } = await withRetry(
  () => client.inference.embed({ texts: [query, ...texts] }),
  { repeatable: true },
);
const vectors = embeddings.map((embedding) => embedding.values);
// Embeddings have length one, so the product of two of them is their cosine.
const cosine = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
texts.forEach((text, i) => {
  console.log(`${cosine(vectors[0], vectors[i + 1]).toFixed(3)}  ${query} | ${text}`);
});

const kept = new Map();
try {
  for (const [i, text] of texts.entries()) {
    const embedding = { values: vectors[i + 1] };
    const pattern = { task, tier: SharingTier.PRIVATE, quality: 1, embedding };
    const stored = await client.pattern.upsertPattern({ pattern, modelPackage });
    kept.set(stored.pattern.id, text);
  }
  const filter = { task };
  for (const by of [
    { case: "text", value: query },
    { case: "embedding", value: { values: vectors[0] } },
  ]) {
    const { hits } = await client.pattern.searchPatterns({ query: by, k: 2, filter });
    console.log(`\nfound by ${by.case}:`);
    for (const { pattern, similarity } of hits) {
      console.log(`${similarity.toFixed(3)}  ${pattern.id}  ${kept.get(pattern.id)}`);
    }
  }
  let number = 0;
  for await (const { patterns } of pages(client.pattern.listPatterns, { pageSize: 1, filter })) {
    console.log(`page ${++number}: ${patterns.map((pattern) => pattern.id)}`);
  }
} finally {
  for (const id of kept.keys()) {
    await client.pattern.deletePattern({ id });
  }
}
