// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { feedback, type FeedbackOptions, type FeedbackSignal } from "./feedback.js";
import { AdapterService } from "./gen/ruvd/adapter/v1/adapter_pb.js";
import { AuthorityService, ClusterService } from "./gen/ruvd/cluster/v1/cluster_pb.js";
import { InferenceService } from "./gen/ruvd/inference/v1/inference_pb.js";
import {
  LearningService,
  type SubmitFeedbackResponse,
} from "./gen/ruvd/learning/v1/learning_pb.js";
import { NodeService, StoreService } from "./gen/ruvd/node/v1/node_pb.js";
import { PatternService } from "./gen/ruvd/pattern/v1/pattern_pb.js";
import { PrivacyService } from "./gen/ruvd/privacy/v1/privacy_pb.js";
import { WitnessService } from "./gen/ruvd/witness/v1/witness_pb.js";
import {
  type GeneratedText,
  type GenerateInit,
  type GenerateOptions,
  generateText,
} from "./generate.js";

/**
 * The methods of a service that a browser can call. Methods that take a stream are not among them:
 * they need gRPC.
 */
export type ServiceClient<Service extends DescService> = Pick<
  Client<Service>,
  {
    [Name in keyof Service["method"]]: Service["method"][Name] extends {
      methodKind: "unary" | "server_streaming";
    }
      ? Name
      : never;
  }[keyof Service["method"]]
>;

export interface TransportOptions {
  /** Where the node serves HTTP (api.http_listen), such as "http://127.0.0.1:7422" */
  baseUrl: string;
  /** A key of `ruvd key create`, or a function that gets one before each call */
  key?: string | (() => string | Promise<string>) | undefined;
  /** Sends JSON, which a browser's tools can show, and not protobuf's own shorter encoding. */
  json?: boolean | undefined;
  /**
   * How long a call with one answer may take, in milliseconds, if its own options do not say it.
   * Streams last until they end or are aborted.
   */
  timeoutMs?: number | undefined;
  /** Another fetch than the global one */
  fetch?: typeof globalThis.fetch | undefined;
  /** Functions around every call, for logs and headers */
  interceptors?: Interceptor[] | undefined;
}

/** The transport may be one that was made before, such as one of gRPC. */
export type RuvdClientOptions = TransportOptions | { transport: Transport };

/** One client for each service, and helpers for what programs do most. */
export interface RuvdClient {
  readonly adapter: ServiceClient<typeof AdapterService>;
  readonly authority: ServiceClient<typeof AuthorityService>;
  readonly cluster: ServiceClient<typeof ClusterService>;
  readonly inference: ServiceClient<typeof InferenceService>;
  readonly learning: ServiceClient<typeof LearningService>;
  readonly node: ServiceClient<typeof NodeService>;
  readonly pattern: ServiceClient<typeof PatternService>;
  readonly privacy: ServiceClient<typeof PrivacyService>;
  readonly store: ServiceClient<typeof StoreService>;
  readonly witness: ServiceClient<typeof WitnessService>;
  /** Generates a text; see the function of this name. */
  generateText(request: GenerateInit, options?: GenerateOptions): Promise<GeneratedText>;
  /** Teaches the node; see the function of this name. */
  feedback(
    responseId: string,
    signal: FeedbackSignal,
    options?: FeedbackOptions,
  ): Promise<SubmitFeedbackResponse>;
}

/** Returns the clients of a node. It opens no connection before the first call. */
export function createRuvdClient(options: RuvdClientOptions): RuvdClient {
  const transport = "transport" in options ? options.transport : createRuvdTransport(options);
  const inference = createClient(InferenceService, transport);
  const learning = createClient(LearningService, transport);
  return {
    adapter: createClient(AdapterService, transport),
    authority: createClient(AuthorityService, transport),
    cluster: createClient(ClusterService, transport),
    inference,
    learning,
    node: createClient(NodeService, transport),
    pattern: createClient(PatternService, transport),
    privacy: createClient(PrivacyService, transport),
    store: createClient(StoreService, transport),
    witness: createClient(WitnessService, transport),
    generateText: (request, call) => generateText(inference, request, call),
    feedback: (responseId, signal, call) => feedback(learning, responseId, signal, call),
  };
}

/** Returns the transport of a node, for programs that need the client of one service only. */
export function createRuvdTransport(options: TransportOptions): Transport {
  const { baseUrl, key, json = false, timeoutMs, fetch, interceptors = [] } = options;
  const transport = createConnectTransport({
    baseUrl,
    useBinaryFormat: !json,
    interceptors: key === undefined ? interceptors : [...interceptors, showKey(key)],
    ...(fetch === undefined ? {} : { fetch }),
  });
  return {
    stream: transport.stream,
    unary: (method, signal, callTimeoutMs, ...rest) =>
      transport.unary(method, signal, callTimeoutMs ?? timeoutMs, ...rest),
  };
}

function showKey(key: NonNullable<TransportOptions["key"]>): Interceptor {
  return (next) => async (request) => {
    const shown = typeof key === "string" ? key : await key();
    request.header.set("Authorization", `Bearer ${shown}`);
    return next(request);
  };
}
