// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What gRPC for Node.js gets from a node, with the protos loaded as they are.

import {readFileSync, readdirSync} from "node:fs";
import {join} from "node:path";

import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";

import {check, equal, facts, isTrue, refusal, text} from "./checks.mjs";

const {conversation, keys} = facts;
const files = readdirSync(facts.protos, {recursive: true}).filter((name) => name.endsWith(".proto"));
const loaded = protoLoader.loadSync(files, {
  includeDirs: [facts.protos], keepCase: true, longs: String, enums: String, oneofs: true,
});
const api = grpc.loadPackageDefinition(loaded);
const tls = grpc.credentials.createSsl(readFileSync(facts.ca));

function service(name, key = keys.contributor) {
  const credentials = key === null ? tls : grpc.credentials.combineChannelCredentials(
    tls, grpc.credentials.createFromMetadataGenerator((_, done) => {
      const metadata = new grpc.Metadata();
      metadata.set("authorization", `Bearer ${key}`);
      done(null, metadata);
    }));
  const place = name.split(".").reduce((at, part) => at[part], api.ruvd);
  return new place(facts.grpc, credentials);
}

const unary = (client, method, request, options = {}) => new Promise((resolve, reject) => {
  client[method](request, new grpc.Metadata(), options,
                 (error, answer) => (error ? reject(error) : resolve(answer)));
});

const details = (error) => error.metadata.get("grpc-status-details-bin").map(String).join();

const inference = service("inference.v1.InferenceService");

await check("grpc-js/protos", async () => {
  equal(files.length, 8, "the protos");
  const services = Object.keys(loaded).filter((name) => name.endsWith("Service"));
  equal(services.length, 10, "the services");
});

await check("grpc-js/unary", async () => {
  const answer = await unary(inference, "Tokenize", {text: "The boat"});
  isTrue(answer.tokens.length >= 2 && answer.pieces[0] instanceof Buffer, "tokens are missing");
  const status = await unary(service("node.v1.NodeService"), "GetStatus", {});
  equal(status.node.model, facts.model, "the model");
});

await check("grpc-js/stream", async () => {
  const messages = conversation.messages.map((one) => (
    {role: `CHAT_ROLE_${one.role.toUpperCase()}`, content: one.content}));
  const {max_tokens, temperature, seed} = conversation;
  const request = {chat: {messages, format: "plain"}, sampling: {max_tokens, temperature, seed}};
  let got = "";
  const seen = [];
  for await (const response of inference.Generate(request)) {
    seen.push(response.event);
    got += response.text_delta?.text ?? "";
  }
  equal([seen[0], seen.at(-1)], ["started", "finished"], "the first and the last event");
  text("grpc-js", got);
});

await check("grpc-js/errors", async () => {
  const tokenize = (key, request = {text: "x"}) =>
    refusal(unary(service("inference.v1.InferenceService", key), "Tokenize", request));
  equal((await tokenize(null)).code, grpc.status.UNAUTHENTICATED);
  equal((await tokenize("unknown")).code, grpc.status.UNAUTHENTICATED);
  equal((await tokenize(keys.observer)).code, grpc.status.PERMISSION_DENIED);
  const error = await tokenize(keys.contributor, {text: "x", model: "other"});
  equal(error.code, grpc.status.NOT_FOUND);
  isTrue(details(error).includes("MODEL_UNKNOWN") && details(error).includes("google.rpc.BadRequest"),
         "the details are incomplete");
  const streamed = await refusal((async () => {
    for await (const _ of inference.Generate({prompt: "x", model: "other"})) throw new Error("an event");
  })());
  equal(streamed.code, grpc.status.NOT_FOUND);
});

await check("grpc-js/deadline", async () => {
  const request = {prompt: "x", completion: "y ".repeat(200), samples: 128};
  const error = await refusal(unary(inference, "Score", request, {deadline: Date.now() + 5}));
  equal(error.code, grpc.status.DEADLINE_EXCEEDED);
});

await check("grpc-js/cancel", async () => {
  const call = inference.Generate({prompt: "Once", sampling: {max_tokens: 400, ignore_end_of_text: true}});
  const error = await refusal((async () => {
    for await (const response of call) {
      if (response.event === "text_delta") call.cancel();
    }
  })());
  equal(error.code, grpc.status.CANCELLED);
});

await check("grpc-js/upload", async () => {
  const admin = service("learning.v1.LearningService", keys.admin);
  const answer = await refusal(new Promise((resolve, reject) => {
    const call = admin.AddLessons((error, added) => (error ? reject(error) : resolve(added)));
    call.write({file: {name: "x.txt", bytes: 3}});
    call.write({data: Buffer.from([0xff, 0xfe, 0x00])});
    call.end();
  }));
  equal(answer.code, grpc.status.INVALID_ARGUMENT);
  isTrue(details(answer).includes("FILE_UNREADABLE"), "the reason is another one");
});

await check("grpc-js/health", async () => {
  // The standard service of health needs no key.
  const definition = {
    Check: {
      path: "/grpc.health.v1.Health/Check", requestStream: false, responseStream: false,
      requestSerialize: () => Buffer.alloc(0), requestDeserialize: (bytes) => bytes,
      responseSerialize: (bytes) => bytes, responseDeserialize: (bytes) => bytes,
    },
  };
  const health = new (grpc.makeGenericClientConstructor(definition, "Health"))(facts.grpc, tls);
  equal([...(await unary(health, "Check", {}))], [8, 1], "SERVING as bytes");
});

process.exit(0);  // open connections would keep the program waiting
