// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Corrects a completion, shows what the node learned from that, and undoes it.
//
//   node examples/feedback.mjs "The little boat" " sailed home at dawn"

import { createRuvdClient, reasonOf } from "@ruvdllm/client";
import { ChangeKind } from "@ruvdllm/client/learning/v1";

const client = createRuvdClient({
  baseUrl: process.env.RUVD_NODE ?? "http://127.0.0.1:7422",
  key: process.env.RUVD_KEY,
});
const prompt = process.argv[2] ?? "The little boat";
const editedText = process.argv[3] ?? " sailed home at dawn.";
const request = { input: { case: "prompt", value: prompt }, sampling: { maxTokens: 24 } };

const { text, responseId } = await client.generateText(request);
console.log(`before:  ${prompt}${text}`);

const metadata = { from: "example" };
const learned = await client.feedback(responseId, { editedText }, { metadata });
if (!learned.learned) {
  console.log(`nothing was learned: ${learned.explanation}`);
}
for (const change of learned.changes) {
  console.log(`change:  ${ChangeKind[change.kind]} ${change.adapterName} ${change.undoToken}`);
}
if (learned.learned) {
  const { heldOutLossBefore: before, heldOutLossAfter: after } = learned;
  console.log(`loss:    ${before.toFixed(2)} to ${after.toFixed(2)} nats a token`);
}
console.log(`after:   ${prompt}${(await client.generateText(request)).text}`);

if (learned.undoToken !== "") {
  const undo = () => client.learning.undo({ undoToken: learned.undoToken });
  const { change } = await undo();
  console.log(`undone:  ${ChangeKind[change.kind]} ${change.adapterName}`);
  // A second call for one change undoes nothing else.
  await undo().catch((error) => console.log(`again:   ${reasonOf(error)}`));
}
console.log(`then:    ${prompt}${(await client.generateText(request)).text}`);
