// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Gets an answer that is JSON of a schema, and shows how a keyword that the node does not support
// is refused.
//
//   node examples/structured.mjs "The captain of the ship was"

import { createRuvdClient, reasonOf } from "@ruvdllm/client";
import { FinishReason } from "@ruvdllm/client/inference/v1";

const client = createRuvdClient({
  baseUrl: process.env.RUVD_NODE ?? "http://127.0.0.1:7422",
  key: process.env.RUVD_KEY,
});
const prompt = process.argv[2] ?? "The captain of the ship was";
const schema = {
  type: "object",
  properties: {
    name: { type: "string", maxLength: 12 },
    age: { type: "integer", minimum: 0 },
    mood: { enum: ["calm", "glad", "cross"] },
  },
  required: ["name", "age", "mood"],
  additionalProperties: false,
};

function ask(jsonSchema) {
  return client.generateText({
    input: { case: "prompt", value: prompt },
    sampling: { maxTokens: 80 },
    constraint: { case: "jsonSchema", value: JSON.stringify(jsonSchema) },
  });
}

const { text, finished } = await ask(schema);
if (finished.reason === FinishReason.LENGTH) {
  console.log(`maxTokens ended the answer before it was whole: ${text}`);
} else {
  console.log(JSON.parse(text));
}

try {
  await ask({ type: "string", format: "date" });
} catch (error) {
  console.log(`${reasonOf(error)}: ${error.rawMessage}`);
}
