// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import {
  type GenerateRequest,
  InferenceService,
} from "../src/gen/ruvd/inference/v1/inference_pb.js";
import {
  LearningService,
  type SubmitFeedbackRequest,
} from "../src/gen/ruvd/learning/v1/learning_pb.js";
import { GetStatusResponseSchema } from "../src/gen/ruvd/node/v1/node_pb.js";
import { createRuvdClient, type FeedbackSignal } from "../src/index.js";
import { failure } from "./failure.js";

const HELLO = { input: { case: "prompt", value: "Hello" } } as const;

type Asked = { url: string; headers: Headers };

// Returns a fetch that keeps what was asked and answers with an empty status.
function fakeFetch(asked: Asked[]): typeof fetch {
  return async (url, init) => {
    asked.push({ url: String(url), headers: new Headers(init?.headers) });
    const isJson = asked.at(-1)?.headers.get("content-type") === "application/json";
    const answer = toBinary(GetStatusResponseSchema, create(GetStatusResponseSchema));
    return new Response(isJson ? "{}" : answer, {
      headers: { "Content-Type": isJson ? "application/json" : "application/proto" },
    });
  };
}

test("a call shows the key, and JSON is sent on demand", async () => {
  const asked: Asked[] = [];
  let keys = 0;
  const options = { baseUrl: "http://node.test/", fetch: fakeFetch(asked), timeoutMs: 1000 };
  await createRuvdClient({ ...options, key: "ruvd-1" }).node.getStatus({});
  const client = createRuvdClient({ ...options, json: true, key: async () => `key${++keys}` });
  await client.node.getStatus({});
  await client.node.getStatus({}, { timeoutMs: 50 });
  await createRuvdClient(options).node.getStatus({});
  assert.deepEqual([...new Set(asked.map((call) => call.url))], [
    "http://node.test/ruvd.node.v1.NodeService/GetStatus",
  ]);
  assert.deepEqual(
    asked.map(({ headers }) => [
      headers.get("authorization"),
      headers.get("content-type"),
      headers.get("connect-timeout-ms"),
    ]),
    [
      ["Bearer ruvd-1", "application/proto", "1000"],
      ["Bearer key1", "application/json", "1000"],
      ["Bearer key2", "application/json", "50"],
      [null, "application/proto", "1000"],
    ],
  );
});

test("methods that take a stream are not there", () => {
  const client = createRuvdClient({ transport: createRouterTransport(() => undefined) });
  // @ts-expect-error: AddLessons takes a stream
  void client.learning.addLessons;
  // @ts-expect-error: ImportPattern takes a stream
  void client.pattern.importPattern;
  void client.learning.runDeep;
});

test("a text is generated piece by piece, with frames where they are wanted", async () => {
  const requests: GenerateRequest[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(InferenceService, {
      async *generate(request) {
        requests.push(request);
        yield { event: { case: "started", value: { responseId: "r1", window: 2 } } };
        yield { event: { case: "textDelta", value: { text: "The " } } };
        yield { event: { case: "denoiseFrame", value: { step: 1, masked: 1 } } };
        yield {};
        yield { event: { case: "textDelta", value: { text: "boat" } } };
        yield { event: { case: "finished", value: { responseId: "r1", steps: 2 } } };
      },
    });
  });
  const client = createRuvdClient({ transport });
  const events: unknown[] = [];
  const result = await client.generateText(HELLO, {
    onStarted: (started) => void events.push(started.window),
    onText: async (text) => {
      await Promise.resolve();
      events.push(text);
    },
    onFrame: (frame) => void events.push(frame.step),
  });
  assert.deepEqual(events, [2, "The ", 1, "boat"]);
  assert.equal(result.text, "The boat");
  assert.equal(result.responseId, "r1");
  assert.equal(result.finished.steps, 2);
  await client.generateText(HELLO);
  assert.deepEqual(
    requests.map((request) => request.streamFrames),
    [true, false],
  );
});

test("a stream without an end is an error, and a signal stops it", async () => {
  const transport = createRouterTransport(({ service }) => {
    service(InferenceService, {
      async *generate(request, context) {
        yield { event: { case: "started", value: { responseId: "r1" } } };
        if (request.sessionId === "waits") {
          await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
        }
      },
    });
  });
  const client = createRuvdClient({ transport });
  await assert.rejects(
    client.generateText(HELLO),
    (error) => error instanceof ConnectError && error.code === Code.DataLoss,
  );
  const controller = new AbortController();
  await assert.rejects(
    client.generateText(
      { ...HELLO, sessionId: "waits" },
      { signal: controller.signal, onStarted: () => controller.abort() },
    ),
    (error) => error instanceof ConnectError && error.code === Code.Canceled,
  );
});

test("feedback keeps one key over all its tries", async () => {
  const requests: SubmitFeedbackRequest[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(LearningService, {
      submitFeedback: (request) => {
        requests.push(request);
        if (requests.length < 3) {
          throw failure(requests.length === 1 ? { retryMs: 1000, reason: "MAILBOX_FULL" } : {});
        }
        return { learned: true };
      },
    });
  });
  const client = createRuvdClient({ transport });
  const retry = { sleep: async () => undefined };
  const answer = await client.feedback("r1", { editedText: "better" }, { retry });
  assert.equal(answer.learned, true);
  assert.equal(requests.length, 3);
  assert.match(requests[0]?.idempotencyKey ?? "", /^[0-9a-f]{32}$/);
  assert.equal(new Set(requests.map((request) => request.idempotencyKey)).size, 1);
  assert.deepEqual(requests[2]?.signal, { case: "editedText", value: "better" });

  await client.feedback("r1", { accepted: false }, { idempotencyKey: "k", metadata: { a: "b" } });
  assert.deepEqual(requests[3]?.signal, { case: "accepted", value: false });
  assert.equal(requests[3]?.idempotencyKey, "k");
  assert.deepEqual({ ...requests[3]?.metadata }, { a: "b" });
  await assert.rejects(client.feedback("r1", {} as FeedbackSignal), TypeError);
  await assert.rejects(client.feedback("r1", { rating: 1, accepted: true }), TypeError);
});

test("the version is that of the node", { skip: !existsSync("../../../node/version.h") }, () => {
  const own = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  const node = /kVersion\[\] = "(.*)"/.exec(readFileSync("../../../node/version.h", "utf8"));
  assert.equal(own.version, node?.[1]);
});
