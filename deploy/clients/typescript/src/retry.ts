// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import { Code, ConnectError } from "@connectrpc/connect";
import { retryDelayOf } from "./errors.js";

export interface RetryOptions {
  /** The most tries, with the first one; 5 if not set */
  attempts?: number | undefined;
  /**
   * The longest wait between two tries in milliseconds; 60000 if not set. An error that asks for
   * more is thrown.
   */
  longestWaitMs?: number | undefined;
  /**
   * Whether the call may be done twice, because its method is marked NO_SIDE_EFFECTS or IDEMPOTENT
   * or its request has an idempotency key. It is then repeated after a lost connection and any
   * UNAVAILABLE, too.
   */
  repeatable?: boolean | undefined;
  /** Ends the waiting. */
  signal?: AbortSignal | undefined;
  /** Called before each wait. */
  onRetry?: ((error: unknown, waitMs: number, attempt: number) => void) | undefined;
  /** For tests: waits, and fails with the reason of the signal if that is aborted. */
  sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  /** For tests: returns a number from 0 to 1. */
  random?: (() => number) | undefined;
}

// The first wait after an error that does not say how long to wait
const FIRST_WAIT_MS = 500;
// Callers that were refused together do not come back together.
const JITTER = 0.2;

/**
 * Calls `fn` until it succeeds, and repeats it after the time that RetryInfo of its error names,
 * waiting twice as long each time. Any other error is thrown at once, and the last one after the
 * last try. `fn` gets the number of the try, from 1. Text that a stream has shown before its error
 * comes again.
 */
export async function withRetry<Result>(
  fn: (attempt: number) => Promise<Result>,
  options: RetryOptions = {},
): Promise<Result> {
  const { attempts = 5, longestWaitMs = 60_000, sleep = defaultSleep, signal } = options;
  const random = options.random ?? Math.random;
  for (let attempt = 1; ; ++attempt) {
    try {
      return await fn(attempt);
    } catch (error) {
      const asked = retryDelayOf(error) ?? (mayPass(error, options) ? FIRST_WAIT_MS : undefined);
      if (asked === undefined || asked > longestWaitMs || attempt >= attempts || signal?.aborted) {
        throw error;
      }
      const grown = Math.max(asked, 1) * 2 ** (attempt - 1) * (1 + JITTER * random());
      const wait = Math.ceil(Math.min(grown, longestWaitMs));
      options.onRetry?.(error, wait, attempt);
      await sleep(wait, signal);
    }
  }
}

// Returns whether an error without RetryInfo may pass, and the call may be repeated.
function mayPass(error: unknown, options: RetryOptions): boolean {
  if (options.repeatable !== true || !(error instanceof ConnectError)) {
    return false;
  }
  // A fetch that does not reach the node fails with a TypeError.
  return error.code === Code.Unavailable || error.cause instanceof TypeError;
}

function defaultSleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as unknown);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) {
      stop();
    } else {
      signal?.addEventListener("abort", stop, { once: true });
    }
  });
}
