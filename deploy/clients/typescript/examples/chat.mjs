// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Answers one message of a chat, and prints the text while it is written. Ctrl-C stops the work.
//
//   node examples/chat.mjs "Who lives at the lake?"

import { createRuvdClient, fieldViolationsOf, reasonOf } from "@ruvdllm/client";
import { ChatRole, FinishReason } from "@ruvdllm/client/inference/v1";

const client = createRuvdClient({
  baseUrl: process.env.RUVD_NODE ?? "http://127.0.0.1:7422",
  key: process.env.RUVD_KEY,
});
const content = process.argv[2] ?? "Who lives at the lake?";
const stop = new AbortController();
process.once("SIGINT", () => stop.abort());

try {
  // A model without a template of its own gets the messages as they are.
  const { model } = await client.node.getModel({});
  const chat = {
    messages: [{ role: ChatRole.USER, content }],
    format: model?.chatFormat || "plain",
  };
  const { finished, responseId } = await client.generateText(
    { input: { case: "chat", value: chat }, sampling: { maxTokens: 60 } },
    { signal: stop.signal, onText: (text) => void process.stdout.write(text) },
  );
  const { usage, forwards, reason, seed } = finished;
  console.log(
    `\n\n${usage?.completionTokens} tokens in ${forwards} forward passes, ` +
      `ended by ${FinishReason[reason]}, seed ${seed}, response ${responseId}`,
  );
} catch (error) {
  console.error(`\n${reasonOf(error) ?? "error"}: ${error.message}`, fieldViolationsOf(error));
  process.exitCode = 1;
}
