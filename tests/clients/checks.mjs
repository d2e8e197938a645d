// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The lines of checks.py, for programs in JavaScript.

import {readFileSync} from "node:fs";

export const facts = JSON.parse(readFileSync(process.argv[2], "utf8"));

const oneLine = (text) => String(text).split(/\s+/).join(" ").slice(0, 400);

export function text(name, got) {
  console.log(`text ${name} ${JSON.stringify(got)}`);
}

export function skipped(name, why) {
  console.log(`skipped ${name}: ${oneLine(why)}`);
}

export function isTrue(condition, what) {
  if (!condition) throw new Error(what);
}

export function equal(got, wanted, what = "the value") {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what} is ${a}, not ${b}`);
}

// Returns the error that a promise is rejected with.
export async function refusal(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  const shown = JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one));
  throw new Error(`no error came, but ${shown?.slice(0, 200)}`);
}

export async function check(name, body) {
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    const place = /([\w.-]+\.mjs:\d+)/.exec(error?.stack ?? "")?.[1] ?? "";
    console.log(`FAILED ${name}: ${oneLine(error?.message ?? error)} (${place})`);
  }
}
