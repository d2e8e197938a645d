// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { withRetry } from "../src/index.js";
import { failure } from "./failure.js";

// Returns options that keep the waits instead of waiting.
function recorded(): {
  waits: number[];
  sleep: (ms: number) => Promise<void>;
  random: () => number;
} {
  const waits: number[] = [];
  return { waits, sleep: async (ms) => void waits.push(ms), random: () => 0 };
}

test("a call is repeated after the time of RetryInfo, and waits longer each time", async () => {
  const { waits, ...options } = recorded();
  const attempts: number[] = [];
  const result = await withRetry(async (attempt) => {
    attempts.push(attempt);
    if (attempt < 4) {
      throw failure({ reason: "MAILBOX_FULL", retryMs: 1500 });
    }
    return "done";
  }, options);
  assert.equal(result, "done");
  assert.deepEqual(attempts, [1, 2, 3, 4]);
  assert.deepEqual(waits, [1500, 3000, 6000]);
});

test("the last error is thrown after the last try", async () => {
  const { waits, ...options } = recorded();
  const error = failure({ reason: "KEY_LIMIT", retryMs: 10 });
  const seen: [unknown, number, number][] = [];
  const onRetry = (...call: [unknown, number, number]): void => void seen.push(call);
  await assert.rejects(
    withRetry(() => Promise.reject(error), { ...options, attempts: 3, onRetry }),
    (thrown) => thrown === error,
  );
  assert.deepEqual(waits, [10, 20]);
  assert.deepEqual(seen, [
    [error, 10, 1],
    [error, 20, 2],
  ]);
});

test("waits have a longest one, and an error that asks for more is thrown", async () => {
  const { waits, ...options } = recorded();
  const limited = { ...options, longestWaitMs: 2500 };
  await assert.rejects(
    withRetry(() => Promise.reject(failure({ retryMs: 1000 })), { ...limited, attempts: 4 }),
  );
  assert.deepEqual(waits, [1000, 2000, 2500]);
  await assert.rejects(withRetry(() => Promise.reject(failure({ retryMs: 2501 })), limited));
  assert.equal(waits.length, 3);
});

test("an error without RetryInfo is thrown at once", async () => {
  const { waits, ...options } = recorded();
  for (const error of [
    new Error("no"),
    failure({ code: Code.Unavailable }),
    failure({ code: Code.InvalidArgument, reason: "INVALID_ARGUMENT" }),
  ]) {
    await assert.rejects(withRetry(() => Promise.reject(error), options), error);
  }
  assert.deepEqual(waits, []);
});

test("a call that may be done twice is repeated after lost connections, too", async () => {
  const { waits, ...options } = recorded();
  const errors: unknown[] = [
    new ConnectError("no", Code.Unavailable),
    ConnectError.from(new TypeError("fetch failed")),
  ];
  const call = async (): Promise<number> => {
    const error = errors.shift();
    if (error !== undefined) {
      throw error;
    }
    return 7;
  };
  assert.equal(await withRetry(call, { ...options, repeatable: true }), 7);
  assert.deepEqual(waits, [500, 1000]);
  const wrong = failure({ code: Code.InvalidArgument });
  await assert.rejects(
    withRetry(() => Promise.reject(wrong), { ...options, repeatable: true }),
    wrong,
  );
});

test("a signal ends the waiting", async () => {
  const controller = new AbortController();
  const reason = new Error("the user left");
  let calls = 0;
  await assert.rejects(
    withRetry(
      () => {
        ++calls;
        return Promise.reject(failure({ retryMs: 50_000 }));
      },
      { signal: controller.signal, onRetry: () => controller.abort(reason) },
    ),
    reason,
  );
  assert.equal(calls, 1);
});
