// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What Connect's transports get from a node, with the generated code of the TypeScript client. The
// runner bundles this file, because that code is TypeScript.

import {readFileSync} from "node:fs";

import {Code, ConnectError, createClient} from "@connectrpc/connect";
import {createConnectTransport as nodeConnect, createGrpcTransport} from "@connectrpc/connect-node";
import {createConnectTransport as webConnect} from "@connectrpc/connect-web";
import {ChatRole, InferenceService} from "@gen/ruvd/inference/v1/inference_pb.js";
import {LearningService} from "@gen/ruvd/learning/v1/learning_pb.js";
import {NodeService} from "@gen/ruvd/node/v1/node_pb.js";
import {PatternService} from "@gen/ruvd/pattern/v1/pattern_pb.js";

import {check, equal, facts, isTrue, refusal, text} from "./checks.mjs";

const {conversation, keys} = facts;
const roles = {system: ChatRole.SYSTEM, user: ChatRole.USER, assistant: ChatRole.ASSISTANT};
const request = {
  input: {
    case: "chat",
    value: {
      messages: conversation.messages.map(({role, content}) => ({role: roles[role], content})),
      format: "plain",
    },
  },
  sampling: {
    maxTokens: conversation.max_tokens,
    temperature: conversation.temperature,
    seed: BigInt(conversation.seed),
  },
};

// Every call shows the key, and says by which method of HTTP it went.
const methods = [];
const interceptors = (key) => [(next) => (call) => {
  if (key !== null) call.header.set("authorization", `Bearer ${key}`);
  return next(call);
}];
const watched = (url, init) => {
  methods.push(init.method);
  return fetch(url, init);
};
const tls = {ca: readFileSync(facts.ca)};
const transports = {
  "web": (key, more) => webConnect(
    {baseUrl: facts.http, interceptors: interceptors(key), fetch: watched, useBinaryFormat: true, ...more}),
  "web-json": (key, more) => webConnect(
    {baseUrl: facts.http, interceptors: interceptors(key), fetch: watched, useBinaryFormat: false, ...more}),
  "node": (key, more) => nodeConnect(
    {baseUrl: facts.http, httpVersion: "1.1", nodeOptions: tls, interceptors: interceptors(key), ...more}),
  "node-json": (key, more) => nodeConnect(
    {baseUrl: facts.http, httpVersion: "1.1", nodeOptions: tls, interceptors: interceptors(key),
     useBinaryFormat: false, ...more}),
  "grpc": (key, more) => createGrpcTransport(
    {baseUrl: `https://${facts.grpc}`, nodeOptions: tls, interceptors: interceptors(key), ...more}),
};

const reasonIn = (error, reason) => error.details.some((detail) =>
  detail.type === "google.rpc.ErrorInfo" && Buffer.from(detail.value).includes(reason));

async function refused(promise, code, reason) {
  const error = ConnectError.from(await refusal(promise));
  equal(Code[error.code], Code[code], `the code of ${error.message}`);
  if (reason) isTrue(reasonIn(error, reason), `no detail has ${reason}: ${JSON.stringify(error.details)}`);
  return error;
}

async function first(stream) {
  for await (const event of stream) return event;
}

const clientsOf = (make) => (service, key = keys.contributor, more = {}) =>
  createClient(service, make(key, more));

// A response belongs to the key that made it, over every transport. What is rated changes later texts.
if (process.argv[3] === "learn") {
  for (const [name, make] of Object.entries(transports)) {
    await check(`connect-${name}/owner`, async () => {
      const by = clientsOf(make);
      let responseId;
      for await (const {event} of by(InferenceService).generate(request)) responseId = event.value.responseId;
      const feedback = {responseId, signal: {case: "rating", value: 0}};
      await refused(by(LearningService, keys.stranger).submitFeedback(feedback), Code.NotFound,
                    "UNKNOWN_RESPONSE");
      await by(LearningService).submitFeedback(feedback);
      await by(LearningService, keys.admin).submitFeedback({responseId, signal: {case: "rating", value: 0.1}});
    });
  }
  process.exit(0);
}

for (const [name, make] of Object.entries(transports)) {
  const by = clientsOf(make);
  const inference = by(InferenceService);

  await check(`connect-${name}/unary`, async () => {
    const answer = await inference.tokenize({text: "The boat"});
    isTrue(answer.tokens.length >= 2 && answer.pieces[0] instanceof Uint8Array, "tokens are missing");
    equal((await by(NodeService).getStatus({})).node.model, facts.model, "the model");
    const {embeddings} = await inference.embed({texts: ["a", "b"]});
    isTrue(embeddings.length === 2 && embeddings[0].values.length > 0, "embeddings are missing");
  });

  if (name !== "grpc") {
    await check(`connect-${name}/get`, async () => {
      const plain = await inference.tokenize({text: "a+b & ü/?"});
      methods.length = 0;
      const getting = by(InferenceService, keys.contributor, {useHttpGet: true});
      equal((await getting.tokenize({text: "a+b & ü/?"})).tokens, plain.tokens, "the tokens");
      if (name.startsWith("web")) equal(methods, ["GET"], "the methods of HTTP");
      // Its answers have more than a kilobyte, so that compression would show.
      isTrue((await getting.embed({texts: ["a boat"]})).embeddings[0].values.length > 0, "no values");
      await refused(getting.tokenize({text: "x", model: "other"}), Code.NotFound, "MODEL_UNKNOWN");
    });
  }

  await check(`connect-${name}/stream`, async () => {
    let got = "";
    const cases = [];
    for await (const {event} of inference.generate(request)) {
      cases.push(event.case);
      if (event.case === "textDelta") got += event.value.text;
    }
    equal([cases[0], cases.at(-1)], ["started", "finished"], "the first and the last event");
    text(`connect-${name}`, got);
  });

  await check(`connect-${name}/frames`, async () => {
    let last;
    for await (const {event} of inference.generate({...request, streamFrames: true})) {
      if (event.case === "denoiseFrame") last = event.value;
    }
    equal(last?.masked, 0, "the masks of the last frame");
  });

  await check(`connect-${name}/errors`, async () => {
    const tokenize = (key, message = {text: "x"}) => by(InferenceService, key).tokenize(message);
    // gRPC itself refuses these two without details.
    const details = name !== "grpc";
    await refused(tokenize(null), Code.Unauthenticated, details && "CALLER_UNKNOWN");
    await refused(tokenize(keys.observer), Code.PermissionDenied, details && "ROLE_MISSING");
    const error = await refused(tokenize(keys.contributor, {text: "x", model: "other"}), Code.NotFound,
                                "MODEL_UNKNOWN");
    isTrue(error.details.some((one) => one.type === "google.rpc.BadRequest"), "no field is named");
    await refused(first(inference.generate({...request, model: "other"})), Code.NotFound, "MODEL_UNKNOWN");
    await refused(first(by(InferenceService, null).generate(request)), Code.Unauthenticated,
                  details && "CALLER_UNKNOWN");
    await refused(by(LearningService, keys.admin).undo({undoToken: ""}), Code.InvalidArgument,
                  "INVALID_ARGUMENT");
    await refused(by(LearningService).submitFeedback({responseId: "0".repeat(32),
                                                      signal: {case: "accepted", value: true}}),
                  Code.NotFound, "UNKNOWN_RESPONSE");
    await refused(by(PatternService).getPattern({id: "0".repeat(32)}), Code.NotFound, "NOT_FOUND");
  });

  await check(`connect-${name}/key-limit`, async () => {
    const poor = by(InferenceService, keys[`poor-${name}`]);
    await poor.tokenize({text: "x"});
    await poor.tokenize({text: "x"});
    const error = await refused(poor.tokenize({text: "x"}), Code.ResourceExhausted, "KEY_LIMIT");
    for (const type of ["google.rpc.RetryInfo", "google.rpc.QuotaFailure"]) {
      isTrue(error.details.some((one) => one.type === type), `no detail is a ${type}`);
    }
    await refused(first(poor.generate(request)), Code.ResourceExhausted, "KEY_LIMIT");
  });

  await check(`connect-${name}/deadline`, async () => {
    const score = {prompt: "x", completion: "y ".repeat(200), samples: 128};
    const error = await refused(inference.score(score, {timeoutMs: 20}), Code.DeadlineExceeded);
    isTrue(error instanceof ConnectError, "it is no ConnectError");
  });

  await check(`connect-${name}/abort`, async () => {
    const controller = new AbortController();
    const long = {...request, sampling: {maxTokens: 400, ignoreEndOfText: true}};
    let events = 0;
    await refused((async () => {
      for await (const _ of inference.generate(long, {signal: controller.signal})) {
        if (++events === 3) controller.abort();
      }
    })(), Code.Canceled);
    isTrue(events < 400, "the stream went on");
    for (let i = 0; i < 100; ++i) {
      const {serving} = await by(NodeService).getStatus({});
      if (serving.requestsRunning === 0n) return;
      await new Promise((wait) => setTimeout(wait, 50));
    }
    throw new Error("the node still runs the request");
  });
}

// What the protocol cannot do is refused, and not left to hang.
await check("connect-node/client-stream", async () => {
  const admin = createClient(LearningService, transports.node(keys.admin));
  await refused(admin.addLessons((async function* () {
    yield {part: {case: "file", value: {name: "x.txt", bytes: 0n}}};
  })()), Code.Unimplemented);
});

process.exit(0);  // open connections would keep the program waiting
