// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import {
  type ListPatternsRequest,
  ListPatternsRequestSchema,
  PatternService,
} from "../src/gen/ruvd/pattern/v1/pattern_pb.js";
import { createRuvdClient, pages, type RuvdClient } from "../src/index.js";

// A node with five patterns; `next` returns the token behind a page.
function clientOf(
  requests: ListPatternsRequest[],
  next = (end: number): string => (end < 5 ? `p${end}` : ""),
): RuvdClient {
  const transport = createRouterTransport(({ service }) => {
    service(PatternService, {
      listPatterns: (request) => {
        requests.push(request);
        const begin = Number(request.pageToken.slice(1));
        const end = Math.min(begin + request.pageSize, 5);
        const ids = [0, 1, 2, 3, 4].slice(begin, end);
        return { patterns: ids.map((id) => ({ id: `${id}` })), nextPageToken: next(end) };
      },
    });
  });
  return createRuvdClient({ transport });
}

test("every page is listed with the filter of the request", async () => {
  const requests: ListPatternsRequest[] = [];
  const client = clientOf(requests);
  const request = { pageSize: 2, filter: { task: "chat" } };
  const ids: string[] = [];
  for await (const page of pages(client.pattern.listPatterns, request)) {
    ids.push(...page.patterns.map((pattern) => pattern.id));
  }
  assert.deepEqual(ids, ["0", "1", "2", "3", "4"]);
  assert.deepEqual(
    requests.map((sent) => [sent.pageToken, sent.pageSize, sent.filter?.task]),
    [
      ["", 2, "chat"],
      ["p2", 2, "chat"],
      ["p4", 2, "chat"],
    ],
  );
  assert.deepEqual(request, { pageSize: 2, filter: { task: "chat" } });
});

test("a whole message can be the request, and a list can begin at a token", async () => {
  const requests: ListPatternsRequest[] = [];
  const client = clientOf(requests);
  const request = create(ListPatternsRequestSchema, { pageSize: 2, pageToken: "p2" });
  const sizes: number[] = [];
  for await (const page of pages(client.pattern.listPatterns, request)) {
    sizes.push(page.patterns.length);
  }
  assert.deepEqual(sizes, [2, 1]);
  assert.equal(request.pageToken, "p2");
});

test("no page is asked for that the loop does not want", async () => {
  const requests: ListPatternsRequest[] = [];
  for await (const page of pages(clientOf(requests).pattern.listPatterns, { pageSize: 1 })) {
    assert.equal(page.patterns.length, 1);
    break;
  }
  assert.equal(requests.length, 1);
});

test("a page that names itself as the next one ends the list with an error", async () => {
  const requests: ListPatternsRequest[] = [];
  const client = clientOf(requests, () => "p1");
  await assert.rejects(async () => {
    for await (const page of pages(client.pattern.listPatterns, { pageSize: 1 })) {
      assert.ok(page);
    }
  }, /names itself/);
  assert.equal(requests.length, 2);
});
