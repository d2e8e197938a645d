// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";

/** Why a call failed, for programs. docs/api.md has a table of all reasons. */
export interface ErrorInfo {
  /** Such as "MODEL_UNKNOWN"; a reason never changes its meaning. */
  reason: string;
  domain: string;
  /** Where a known limit was exceeded: `limit` and `value` */
  metadata: Record<string, string>;
}

/** A field of the request that is wrong. */
export interface FieldViolation {
  /** The path of the field, such as "sampling.steps" */
  field: string;
  /** A text for people */
  description: string;
}

/** A quota that does not allow the call. */
export interface QuotaViolation {
  /** "key" or "privacy" */
  subject: string;
  /** A text for people */
  description: string;
}

/** Returns the cause of an error; undefined if the error says none. */
export function errorInfoOf(error: unknown): ErrorInfo | undefined {
  const detail = detailOf(error, "google.rpc.ErrorInfo");
  if (detail === undefined) {
    return undefined;
  }
  const info = { reason: "", domain: "" };
  const metadata: [string, string][] = [];
  readFields(detail, {
    1: (reader) => (info.reason = reader.string()),
    2: (reader) => (info.domain = reader.string()),
    3: (reader) => metadata.push(pairOf(reader.bytes())),
  });
  return { ...info, metadata: Object.fromEntries(metadata) };
}

/**
 * Returns the reason of an error, such as "KEY_LIMIT"; undefined if it is not known. An error
 * without details that refuses the caller has the reason for which it stands.
 */
export function reasonOf(error: unknown): string | undefined {
  const reason = errorInfoOf(error)?.reason;
  if (reason) {
    return reason;
  }
  if (!(error instanceof ConnectError)) {
    return undefined;
  }
  switch (error.code) {
    case Code.Unauthenticated:
      return "CALLER_UNKNOWN";
    case Code.PermissionDenied:
      return "ROLE_MISSING";
    default:
      return undefined;
  }
}

/** Returns the fields of the request that are wrong; empty if the error names none. */
export function fieldViolationsOf(error: unknown): FieldViolation[] {
  return pairsOf(error, "google.rpc.BadRequest").map(([field, description]) => ({
    field,
    description,
  }));
}

/** Returns the quotas that do not allow the call; empty if the error names none. */
export function quotaViolationsOf(error: unknown): QuotaViolation[] {
  return pairsOf(error, "google.rpc.QuotaFailure").map(([subject, description]) => ({
    subject,
    description,
  }));
}

/**
 * Returns after how many milliseconds another try may succeed; undefined if the error does not say
 * so.
 */
export function retryDelayOf(error: unknown): number | undefined {
  const detail = detailOf(error, "google.rpc.RetryInfo");
  if (detail === undefined) {
    return undefined;
  }
  let ms = 0;
  readFields(detail, {
    1: (reader) => {
      const parts = {
        1: (part: BinaryReader) => (ms += Number(part.int64()) * 1000),
        2: (part: BinaryReader) => (ms += Math.ceil(part.int32() / 1e6)),
      };
      readFields(reader.bytes(), {}, parts);
    },
  });
  return Math.max(0, ms);
}

// Returns the bytes of the first detail of a type.
function detailOf(error: unknown, type: string): Uint8Array | undefined {
  if (!(error instanceof ConnectError)) {
    return undefined;
  }
  for (const detail of error.details) {
    if ("type" in detail && detail.type === type) {
      return detail.value;
    }
  }
  return undefined;
}

// Returns the violations of BadRequest or QuotaFailure, whose messages have equal shapes.
function pairsOf(error: unknown, type: string): [string, string][] {
  const pairs: [string, string][] = [];
  const detail = detailOf(error, type);
  if (detail !== undefined) {
    readFields(detail, { 1: (reader) => pairs.push(pairOf(reader.bytes())) });
  }
  return pairs;
}

// Returns the two texts of a violation, or of an entry of a map.
function pairOf(bytes: Uint8Array): [string, string] {
  const pair: [string, string] = ["", ""];
  readFields(bytes, {
    1: (reader) => (pair[0] = reader.string()),
    2: (reader) => (pair[1] = reader.string()),
  });
  return pair;
}

type Readers = Record<number, (reader: BinaryReader) => unknown>;

// Calls the reader of each known field: `texts` for texts and messages, `numbers` for numbers. It
// stops without an error at bytes that are no message, because they must not hide the error that
// they came with.
function readFields(bytes: Uint8Array, texts: Readers, numbers: Readers = {}): void {
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      const known =
        type === WireType.LengthDelimited
          ? texts[field]
          : type === WireType.Varint
            ? numbers[field]
            : undefined;
      if (known === undefined) {
        reader.skip(type, field);
      } else {
        known(reader);
      }
    }
  } catch {
    // The fields that were read so far stay.
  }
}
