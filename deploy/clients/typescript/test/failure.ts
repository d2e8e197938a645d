// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";

function message(...fields: [number, string | Uint8Array | number][]): Uint8Array {
  const writer = new BinaryWriter();
  for (const [field, value] of fields) {
    if (typeof value === "number") {
      writer.tag(field, WireType.Varint).int64(value);
    } else {
      const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
      writer.tag(field, WireType.LengthDelimited).bytes(bytes);
    }
  }
  return writer.finish();
}

export interface Failure {
  code?: Code;
  reason?: string;
  metadata?: Record<string, string>;
  retryMs?: number;
  fields?: [string, string][];
  quotas?: [string, string][];
}

/** Returns an error as a node sends it. */
export function failure(parts: Failure): ConnectError {
  const error = new ConnectError("for people", parts.code ?? Code.Unavailable);
  const add = (type: string, value: Uint8Array): void => {
    error.details.push({ type: `google.rpc.${type}`, value });
  };
  if (parts.reason !== undefined) {
    const metadata = Object.entries(parts.metadata ?? {});
    add(
      "ErrorInfo",
      message(
        [1, parts.reason],
        [2, "ruvd"],
        ...metadata.map(([name, value]): [number, Uint8Array] => [
          3,
          message([1, name], [2, value]),
        ]),
      ),
    );
  }
  if (parts.retryMs !== undefined) {
    const seconds = Math.floor(parts.retryMs / 1000);
    const nanos = (parts.retryMs % 1000) * 1e6;
    add("RetryInfo", message([1, message([1, seconds], [2, nanos])]));
  }
  const pairs = (list: [string, string][]): Uint8Array =>
    message(
      ...list.map(([first, second]): [number, Uint8Array] => [1, message([1, first], [2, second])]),
    );
  if (parts.fields !== undefined) {
    add("BadRequest", pairs(parts.fields));
  }
  if (parts.quotas !== undefined) {
    add("QuotaFailure", pairs(parts.quotas));
  }
  return error;
}
