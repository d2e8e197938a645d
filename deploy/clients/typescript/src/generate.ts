// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type CallOptions, Code, ConnectError } from "@connectrpc/connect";
import type { ServiceClient } from "./client.js";
import type {
  DenoiseFrame,
  Finished,
  GenerateRequestSchema,
  InferenceService,
  Started,
} from "./gen/ruvd/inference/v1/inference_pb.js";

export type GenerateInit = MessageInitShape<typeof GenerateRequestSchema>;

/** What happens while a text is written. The next event waits for a promise that is returned. */
export interface GenerateOptions extends CallOptions {
  /** Gets what is known before the first step. */
  onStarted?: ((started: Started) => void | Promise<void>) | undefined;
  /** Gets each piece of the text. Text that was shown never changes. */
  onText?: ((text: string) => void | Promise<void>) | undefined;
  /** Gets each denoising step, and asks for them. */
  onFrame?: ((frame: DenoiseFrame) => void | Promise<void>) | undefined;
}

export interface GeneratedText {
  /** The whole completion */
  text: string;
  /** Names the completion in feedback. */
  responseId: string;
  started: Started;
  finished: Finished;
}

/**
 * Generates a text and returns all of it. Aborting `signal` stops the work, and the promise then
 * rejects with the code Canceled.
 */
export async function generateText(
  inference: Pick<ServiceClient<typeof InferenceService>, "generate">,
  request: GenerateInit,
  options: GenerateOptions = {},
): Promise<GeneratedText> {
  const { onStarted, onText, onFrame, ...call } = options;
  const asked = onFrame === undefined ? request : { ...request, streamFrames: true };
  let text = "";
  let started: Started | undefined;
  let finished: Finished | undefined;
  for await (const { event } of inference.generate(asked, call)) {
    switch (event.case) {
      case "started":
        started = event.value;
        await onStarted?.(started);
        break;
      case "textDelta":
        text += event.value.text;
        await onText?.(event.value.text);
        break;
      case "denoiseFrame":
        await onFrame?.(event.value);
        break;
      case "finished":
        finished = event.value;
        break;
      default: // an event that this version does not know
        break;
    }
  }
  if (started === undefined || finished === undefined) {
    throw new ConnectError("the stream ended before the text was finished", Code.DataLoss);
  }
  return { text, responseId: started.responseId, started, finished };
}
