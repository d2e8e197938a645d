// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Shows in a terminal how masks turn into words, and then how the same window looked at some steps.
//
//   node examples/denoise.mjs "The little boat"

import { createRuvdClient, DenoisingPlayer } from "@ruvdllm/client";
import { DecodingMode } from "@ruvdllm/client/inference/v1";

const client = createRuvdClient({
  baseUrl: process.env.RUVD_NODE ?? "http://127.0.0.1:7422",
  key: process.env.RUVD_KEY,
});
const prompt = process.argv[2] ?? "The little boat";

const player = new DenoisingPlayer();
const screen = process.stdout;
let rows = 0;

// Draws the window over the one before it; without a terminal only the replay below is printed.
function draw() {
  if (!screen.isTTY) {
    return;
  }
  const cells = player.cells.map((cell) => {
    const isNew = cell !== undefined && cell.frame === player.position;
    const text = cell?.text.replaceAll("\n", "\u23ce") ?? "\u2591";
    return cell === undefined ? `\x1b[2m${text}\x1b[22m` : isNew ? `\x1b[1m${text}\x1b[22m` : text;
  });
  const up = rows > 0 ? `\x1b[${rows}A\r` : "";
  const step = player.frame?.step ?? 0;
  screen.write(`${up}\x1b[J${prompt}${cells.join("")}\nstep ${step}\n`);
  const shown = prompt + player.text().replaceAll("\n", "\u23ce");
  rows = Math.max(1, Math.ceil([...shown].length / screen.columns)) + 1;
}

player.onChange(draw);
await client.generateText(
  {
    input: { case: "prompt", value: prompt },
    sampling: { mode: DecodingMode.DIFFUSION, maxTokens: 40, steps: 20 },
  },
  { onStarted: (started) => player.start(started), onFrame: (frame) => player.add(frame) },
);

console.log(`\n${player.length} frames; the window at the beginning, halfway and at the end:`);
for (const position of [0, Math.floor(player.length / 2), player.length]) {
  console.log(`${String(position).padStart(3)} ${JSON.stringify(player.textAt(position))}`);
}
