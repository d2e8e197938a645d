// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { DenoiseFrameSchema, StartedSchema } from "../src/gen/ruvd/inference/v1/inference_pb.js";
import { DenoisingPlayer, type PlayerFrame } from "../src/player/index.js";

const START = { window: 4, given: [{ position: 3, text: "." }] };

function frame(step: number, commits: [number, string][], remasked: number[] = []): PlayerFrame {
  return {
    step,
    t: 1,
    masked: 0,
    meanEntropy: 1,
    commits: commits.map(([position, text]) => ({ position, text, confidence: 0.5 })),
    remasked,
  };
}

const FRAMES = [
  frame(1, [[1, "boat"]]),
  frame(2, [[0, "a "], [2, "s"]], [1]),
  frame(4, [[1, "sea"]]),
];

function filled(): DenoisingPlayer {
  const player = new DenoisingPlayer();
  player.start(START);
  FRAMES.forEach((each) => player.add(each));
  return player;
}

test("a player at its end follows new frames", () => {
  const player = new DenoisingPlayer();
  assert.equal(player.text(), "");
  player.start(START);
  const texts = [player.text("_")];
  for (const each of FRAMES) {
    player.add(each);
    texts.push(player.text("_"));
  }
  assert.deepEqual(texts, ["___.", "_boat_.", "a _s.", "a seas."]);
  assert.equal(player.length, 3);
  assert.equal(player.position, 3);
  assert.equal(player.frame?.step, 4);
  assert.deepEqual(player.cells[1], { text: "sea", confidence: 0.5, frame: 3 });
  assert.deepEqual(player.cells[3], { text: ".", confidence: 1, frame: 0 });
});

test("one can scrub to every position, and a player in the past stays there", () => {
  const player = filled();
  const shown = (position: number): string => {
    player.seek(position);
    return player.text("_");
  };
  assert.deepEqual([2, 0, 1, 3, 0].map(shown), ["a _s.", "___.", "_boat_.", "a seas.", "___."]);
  assert.equal(player.frame, undefined);
  assert.deepEqual([-1, 99, 1.9, Number.NaN].map(shown), ["___.", "a seas.", "_boat_.", "___."]);
  player.add(frame(5, [[2, "!"]]));
  assert.equal(player.text("_"), "___.");
  assert.equal(player.textAt(4, "_"), "a sea!.");
  assert.equal(player.textAt(1), "\u2591boat\u2591.");
  assert.equal(player.position, 0);
});

test("an array of cells does not change later", () => {
  const player = filled();
  player.seek(1);
  const before = player.cells;
  const copy = [...before];
  player.seek(3);
  player.seek(0);
  assert.deepEqual(before, copy);
});

test("commits outside the window are left out", () => {
  const player = new DenoisingPlayer();
  player.start({ window: 2 });
  player.add(frame(1, [[2, "x"], [4_000_000_000, "y"], [0, "z"]], [7]));
  assert.equal(player.text("_"), "z_");
  assert.equal(player.cells.length, 2);
});

test("messages of the API are frames, and a start forgets the frames before it", () => {
  const player = filled();
  player.start(create(StartedSchema, { window: 1, responseId: "r" }));
  assert.equal(player.length, 0);
  player.add(create(DenoiseFrameSchema, { step: 1, commits: [{ position: 0, text: "ok" }] }));
  assert.equal(player.text(), "ok");
});

// A clock whose timers run by hand
class Timers {
  next: { call: () => void; ms: number } | undefined;
  readonly later = (call: () => void, ms: number): unknown => (this.next = { call, ms });
  readonly cancel = (timer: unknown): void => {
    if (timer === this.next) {
      this.next = undefined;
    }
  };
  run(): void {
    const { next } = this;
    this.next = undefined;
    next?.call();
  }
}

test("a player plays from the beginning to the end", () => {
  const timers = new Timers();
  const player = new DenoisingPlayer(timers);
  player.start(START);
  FRAMES.forEach((each) => player.add(each));
  let changes = 0;
  const unsubscribe = player.onChange(() => void ++changes);
  player.play(10);
  assert.equal(timers.next?.ms, 100);
  assert.equal(player.position, 0);
  const seen: number[] = [];
  while (timers.next !== undefined) {
    assert.ok(player.isPlaying);
    timers.run();
    seen.push(player.position);
  }
  assert.deepEqual(seen, [1, 2, 3]);
  assert.equal(player.isPlaying, false);
  assert.equal(changes, 5); // seek, play and three frames
  unsubscribe();
  player.seek(0);
  assert.equal(changes, 5);
});

test("a pause keeps the place, and play goes on there", () => {
  const timers = new Timers();
  const player = new DenoisingPlayer(timers);
  player.start(START);
  FRAMES.forEach((each) => player.add(each));
  player.play();
  timers.run();
  player.pause();
  assert.equal(timers.next, undefined);
  assert.equal(player.isPlaying, false);
  assert.equal(player.position, 1);
  player.play();
  timers.run();
  assert.equal(player.position, 2);
  player.add(frame(5, [[0, "b"]]));
  assert.equal(player.position, 2);
  player.start({ window: 1 });
  assert.equal(timers.next, undefined);
  assert.throws(() => player.play(0), RangeError);
  assert.throws(() => player.play(Number.NaN), RangeError);
});

test("play without frames ends at once", () => {
  const timers = new Timers();
  const player = new DenoisingPlayer(timers);
  player.play();
  timers.run();
  assert.equal(player.isPlaying, false);
});
