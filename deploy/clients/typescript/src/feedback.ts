// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import type { CallOptions } from "@connectrpc/connect";
import type { ServiceClient } from "./client.js";
import type {
  LearningService,
  SubmitFeedbackRequest,
  SubmitFeedbackResponse,
} from "./gen/ruvd/learning/v1/learning_pb.js";
import { type RetryOptions, withRetry } from "./retry.js";

/** What a user did with a completion: exactly one of these. */
export type FeedbackSignal =
  /** From 0 (bad) to 1 (good) */
  | { rating: number }
  /** The text that the completion should have been */
  | { editedText: string }
  /** Whether the user kept the completion as it is */
  | { accepted: boolean }
  | { copied: true }
  | { regenerated: true };

export interface FeedbackOptions extends CallOptions {
  /** A key that lasts longer than this call, such as the id of a stored form; drawn if not set */
  idempotencyKey?: string | undefined;
  /** At most 16 names with values, which are stored with the completion */
  metadata?: Record<string, string> | undefined;
  retry?: RetryOptions | undefined;
}

/**
 * Teaches the node and returns what it learned. The call is repeated after errors that may pass,
 * always with one key, so the node learns from it once.
 */
export async function feedback(
  learning: Pick<ServiceClient<typeof LearningService>, "submitFeedback">,
  responseId: string,
  signal: FeedbackSignal,
  options: FeedbackOptions = {},
): Promise<SubmitFeedbackResponse> {
  const { idempotencyKey = newKey(), metadata = {}, retry, ...call } = options;
  const request = { responseId, signal: signalOf(signal), idempotencyKey, metadata };
  return withRetry(() => learning.submitFeedback(request, call), {
    repeatable: true,
    signal: call.signal,
    ...retry,
  });
}

function signalOf(signal: FeedbackSignal): SubmitFeedbackRequest["signal"] {
  const [first, ...more] = Object.entries(signal);
  if (first === undefined || more.length > 0) {
    throw new TypeError(
      "give one of rating, editedText, accepted, copied and regenerated as feedback",
    );
  }
  const [name, value] = first;
  return { case: name, value } as SubmitFeedbackRequest["signal"];
}

// randomUUID is missing in pages that came without TLS.
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
