// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { NodeService } from "../src/gen/ruvd/node/v1/node_pb.js";
import {
  createRuvdClient,
  errorInfoOf,
  fieldViolationsOf,
  quotaViolationsOf,
  reasonOf,
  retryDelayOf,
} from "../src/index.js";
import { failure } from "./failure.js";

// Returns an error after it went through a transport.
async function received(sent: ConnectError): Promise<unknown> {
  const transport = createRouterTransport(({ service }) => {
    service(NodeService, {
      getStatus: () => {
        throw sent;
      },
    });
  });
  const client = createRuvdClient({ transport });
  return client.node.getStatus({}).then(
    () => assert.fail("the call succeeded"),
    (error: unknown) => error,
  );
}

test("an error has its reason, metadata, fields, quotas and delay", async () => {
  const error = await received(
    failure({
      code: Code.InvalidArgument,
      reason: "LIMIT_EXCEEDED",
      metadata: { limit: "4", value: "5", ["__proto__"]: "no prototype" },
      retryMs: 1250,
      fields: [
        ["sampling.steps", "is 0"],
        ["", "is missing"],
      ],
      quotas: [["key", "60 requests a minute"]],
    }),
  );
  assert.equal(reasonOf(error), "LIMIT_EXCEEDED");
  const info = errorInfoOf(error);
  assert.equal(info?.domain, "ruvd");
  assert.deepEqual(Object.entries(info?.metadata ?? {}), [
    ["limit", "4"],
    ["value", "5"],
    ["__proto__", "no prototype"],
  ]);
  assert.equal(retryDelayOf(error), 1250);
  assert.deepEqual(fieldViolationsOf(error), [
    { field: "sampling.steps", description: "is 0" },
    { field: "", description: "is missing" },
  ]);
  assert.deepEqual(quotaViolationsOf(error), [
    { subject: "key", description: "60 requests a minute" },
  ]);
});

test("an error without details has neither fields nor a delay", async () => {
  const error = await received(new ConnectError("no", Code.NotFound));
  assert.equal(reasonOf(error), undefined);
  assert.equal(errorInfoOf(error), undefined);
  assert.equal(retryDelayOf(error), undefined);
  assert.deepEqual(fieldViolationsOf(error), []);
  assert.deepEqual(quotaViolationsOf(error), []);
});

test("an error without details that refuses the caller stands for a reason", () => {
  assert.equal(reasonOf(new ConnectError("", Code.Unauthenticated)), "CALLER_UNKNOWN");
  assert.equal(reasonOf(new ConnectError("", Code.PermissionDenied)), "ROLE_MISSING");
  assert.equal(
    reasonOf(failure({ code: Code.PermissionDenied, reason: "HOST_NOT_ALLOWED" })),
    "HOST_NOT_ALLOWED",
  );
});

test("what is no error of a call has no reason", () => {
  for (const thrown of [new Error("no"), undefined, null, "text", { details: [] }]) {
    assert.equal(reasonOf(thrown), undefined);
    assert.equal(retryDelayOf(thrown), undefined);
    assert.deepEqual(fieldViolationsOf(thrown), []);
  }
});

test("details that are cut or of other types are read as far as they go", () => {
  const whole = failure({ reason: "KEY_LIMIT", metadata: { limit: "4" }, retryMs: 2500 });
  for (const detail of whole.details) {
    assert.ok("type" in detail);
    for (let size = 0; size < detail.value.length; ++size) {
      const error = new ConnectError("", Code.Unavailable);
      error.details.push({ type: detail.type, value: detail.value.slice(0, size) });
      assert.doesNotThrow(() => [reasonOf(error), retryDelayOf(error), fieldViolationsOf(error)]);
    }
  }
  const odd = new ConnectError("", Code.Unavailable);
  // Field 1 is a number here, and field 9 is not known.
  const value = Uint8Array.of(0x08, 0x07, 0x4a, 0x01, 0x41, 0x12, 0x01, 0x42);
  odd.details.push({ type: "google.rpc.ErrorInfo", value });
  assert.deepEqual(errorInfoOf(odd), { reason: "", domain: "B", metadata: {} });
});
