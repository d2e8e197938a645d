// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What OpenAI's own library gets from a node.

import OpenAI from "openai";

import {check, equal, facts, isTrue, refusal, text} from "./checks.mjs";

const {conversation, keys, model} = facts;
const openai = (key, options) =>
  new OpenAI({baseURL: `${facts.http}/v1`, apiKey: key, maxRetries: 0, ...options});
const client = openai(keys.contributor);
const talk = {
  model,
  messages: conversation.messages,
  max_tokens: conversation.max_tokens,
  temperature: conversation.temperature,
  seed: conversation.seed,
};
const user = [{role: "user", content: "The little boat"}];

async function read(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks) => chunks.map((one) => one.choices[0]?.delta?.content ?? "").join("");

await check("openai/models", async () => {
  const found = [];
  for await (const one of client.models.list()) found.push(one.id);
  isTrue(found.includes(model), `${model} is not among ${found}`);
  equal((await client.models.retrieve(model)).id, model);
});

await check("openai/chat", async () => {
  const answer = await client.chat.completions.create(talk);
  equal(answer.object, "chat.completion");
  equal(answer.choices[0].message.role, "assistant");
  isTrue(["length", "stop"].includes(answer.choices[0].finish_reason), "no reason of the end");
  equal(answer.ruvd.seed, conversation.seed, "ruvd.seed");
  text("openai", answer.choices[0].message.content);
});

await check("openai/stream", async () => {
  const stream = {...talk, stream: true, stream_options: {include_usage: true}};
  const chunks = await read(await client.chat.completions.create(stream));
  isTrue(chunks.at(-1).usage.completion_tokens > 0, "the last chunk has no usage");
  isTrue(chunks.every((one) => one.object === "chat.completion.chunk"), "a chunk is of another kind");
  text("openai-stream", textOf(chunks));
});

await check("openai/stream-helper", async () => {
  const stream = client.chat.completions.stream(talk);
  let deltas = "";
  stream.on("content", (delta) => (deltas += delta));
  const whole = await stream.finalChatCompletion();
  equal(whole.choices[0].message.content, deltas, "the whole text");
  text("openai-stream-helper", deltas);
});

await check("openai/completion", async () => {
  const answer = await client.completions.create({model, prompt: "The boat", max_tokens: 4});
  equal(answer.object, "text_completion");
  isTrue(answer.choices[0].text.length > 0, "there is no text");
});

await check("openai/embeddings", async () => {
  const input = ["a boat", "the sea"];
  // The library asks for base64 unless the caller names a format, and decodes it.
  const packed = await client.embeddings.create({model, input});
  const plain = await client.embeddings.create({model, input, encoding_format: "float"});
  equal(packed.data.length, 2);
  isTrue(packed.data[0].embedding.length > 0, "the embedding is empty");
  for (const [at, one] of packed.data.entries()) {
    const other = plain.data[at].embedding;
    equal(one.embedding.length, other.length, "the dimension");
    isTrue(other.every((value, i) => Math.abs(value - one.embedding[i]) < 1e-6), "two formats differ");
  }
});

const schema = {
  type: "object",
  properties: {name: {type: "string", maxLength: 8}, age: {type: "integer", minimum: 0}},
  required: ["name", "age"],
  additionalProperties: false,
};
const format = {type: "json_schema", json_schema: {name: "guest", strict: true, schema}};

await check("openai/json-schema", async () => {
  const held = {model, messages: user, max_tokens: 80, seed: 1, response_format: format};
  const answer = await client.chat.completions.create(held);
  equal(answer.choices[0].finish_reason, "stop", "finish_reason");
  const made = JSON.parse(answer.choices[0].message.content);
  equal(Object.keys(made), ["name", "age"]);
  isTrue(Number.isInteger(made.age) && made.age >= 0, "the age is no such number");
  const parsed = await client.chat.completions.parse(held);
  equal(parsed.choices[0].message.parsed, made, "what parse() returns");
});

await check("openai/json-schema-errors", async () => {
  const wrong = structuredClone(format);
  wrong.json_schema.schema.properties.name.pattern = "a+";
  const error = await refusal(
    client.chat.completions.create({model, messages: user, response_format: wrong}));
  isTrue(error instanceof OpenAI.BadRequestError, `it is a ${error.constructor.name}`);
  isTrue(error.message.includes("pattern"), `the message names no keyword: ${error.message}`);
});

await check("openai/errors", async () => {
  const create = (options, by = client) =>
    refusal(by.chat.completions.create({model, messages: user, max_tokens: 4, ...options}));
  const cases = [
    [await create({}, openai("none")), OpenAI.AuthenticationError, 401, "invalid_api_key", null],
    [await create({}, openai(keys.observer)), OpenAI.PermissionDeniedError, 403,
     "insufficient_permissions", null],
    [await create({model: "other"}), OpenAI.NotFoundError, 404, "model_not_found", "model"],
    [await create({tools: [{type: "function", function: {name: "f"}}]}), OpenAI.BadRequestError, 400,
     "unsupported_parameter", "tools"],
    [await create({max_tokens: 100000}), OpenAI.BadRequestError, 400, "context_length_exceeded"],
    [await create({messages: [{role: "user", content: 7}]}), OpenAI.BadRequestError, 400, undefined,
     "messages[0].content"],
    [await create({n: 2}), OpenAI.BadRequestError, 400, undefined, "n"],
    [await create({stream: true, model: "other"}), OpenAI.NotFoundError, 404, "model_not_found", "model"],
    [await refusal(client.models.retrieve("other")), OpenAI.NotFoundError, 404, "model_not_found"],
  ];
  for (const [error, kind, status, code, param] of cases) {
    isTrue(error instanceof kind, `${kind.name} is a ${error.constructor.name}: ${error.message}`);
    equal(error.status, status, `the status of ${error.message}`);
    if (code !== undefined) equal(error.code, code, `the code of ${error.message}`);
    if (param !== undefined) equal(error.param, param, `the param of ${error.message}`);
  }
});

await check("openai/rate-limit", async () => {
  const poor = openai(keys.poor);
  let error;
  for (let i = 0; i < 3 && error === undefined; ++i) {
    await poor.embeddings.create({model, input: "x"}).catch((refused) => (error = refused));
  }
  isTrue(error instanceof OpenAI.RateLimitError, `no RateLimitError came, but ${error}`);
  isTrue(Number(error.headers.get("retry-after")) >= 1, "it has no Retry-After");
});

await check("openai/retries", async () => {
  // The library itself waits as long as Retry-After says, and calls again.
  const statuses = [];
  const counting = async (...call) => {
    const answer = await fetch(...call);
    statuses.push(answer.status);
    return answer;
  };
  const brisk = openai(keys.brisk, {maxRetries: 3, fetch: counting});
  for (let i = 0; i < 200 && !statuses.includes(429); ++i) {
    equal((await brisk.embeddings.create({model, input: "x"})).data.length, 1);
  }
  equal(statuses.slice(-2), [429, 200], "the last two answers");
});

await check("openai/abort", async () => {
  const begin = Date.now();
  const stream = await client.chat.completions.create({...talk, max_tokens: 400, stream: true});
  let chunks = 0;
  for await (const _ of stream) {
    if (++chunks === 3) stream.controller.abort();
  }
  isTrue(chunks < 400 && Date.now() - begin < 20000, "the stream went on");
  const controller = new AbortController();
  const pending = client.chat.completions.create({...talk, max_tokens: 400}, {signal: controller.signal});
  controller.abort();
  isTrue((await refusal(pending)) instanceof OpenAI.APIUserAbortError, "abort() gives another error");
  const late = await refusal(
    client.chat.completions.create({...talk, max_tokens: 400}, {timeout: 5}));
  isTrue(late instanceof OpenAI.APIConnectionTimeoutError, `a timeout gives ${late.constructor.name}`);
  // The node serves on.
  isTrue((await client.chat.completions.create({...talk, max_tokens: 2})).choices.length === 1, "no answer");
});

await check("openai/frames", async () => {
  const plain = await read(await client.chat.completions.create({...talk, stream: true}));
  isTrue(plain.every((one) => one.diffusion === undefined), "frames came without being asked for");
  const chunks = await read(
    await client.chat.completions.create({...talk, stream: true, diffusion: {stream: "steps"}}));
  const frames = chunks.filter((one) => one.diffusion !== undefined);
  isTrue(frames.length > 0, "no frame came");
  isTrue(frames.every((one) => !one.choices[0]?.delta?.content), "a frame has text");
  equal(frames.at(-1).diffusion.masked, 0, "the masks of the last frame");
  equal(textOf(chunks), textOf(plain), "the text with frames");
  text("openai-frames", textOf(chunks));
});

await check("openai/logprobs", async () => {
  const answer = await client.chat.completions.create({...talk, logprobs: true, top_logprobs: 2});
  const tokens = answer.choices[0].logprobs.content;
  isTrue(tokens.length > 0 && tokens[0].top_logprobs.length === 2, "log-probabilities are missing");
  isTrue(tokens.every((one) => one.logprob <= 0), "a log-probability is positive");
});

await check("openai/unserved-routes", async () => {
  const error = await refusal(client.responses.create({model, input: "x"}));
  isTrue(error instanceof OpenAI.NotFoundError, `it is a ${error.constructor.name}`);
  equal(error.code, "unknown_url", "the code");
});
