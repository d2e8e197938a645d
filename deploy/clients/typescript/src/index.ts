// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

export {
  createRuvdClient,
  createRuvdTransport,
  type RuvdClient,
  type RuvdClientOptions,
  type ServiceClient,
  type TransportOptions,
} from "./client.js";
export {
  type ErrorInfo,
  errorInfoOf,
  type FieldViolation,
  fieldViolationsOf,
  type QuotaViolation,
  quotaViolationsOf,
  reasonOf,
  retryDelayOf,
} from "./errors.js";
export { feedback, type FeedbackOptions, type FeedbackSignal } from "./feedback.js";
export {
  type GeneratedText,
  type GenerateInit,
  type GenerateOptions,
  generateText,
} from "./generate.js";
export { pages } from "./pages.js";
export * from "./player/index.js";
export { type RetryOptions, withRetry } from "./retry.js";
