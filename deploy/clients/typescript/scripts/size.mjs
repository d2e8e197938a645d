// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Prints how many bytes a page gets after gzip, and fails if the client with its generated code is
// larger than its limit.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const LIMIT = 30_000;
const PROTOBUF = ["@bufbuild/protobuf"];
const CONNECT = ["@connectrpc/connect", "@connectrpc/connect-web"];

const folder = dirname(dirname(fileURLToPath(import.meta.url)));

async function gzipBytes(source, external) {
  const result = await build({
    stdin: { contents: source, resolveDir: join(folder, "src"), loader: "ts" },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    external: external.flatMap((name) => [name, `${name}/*`]),
  });
  return gzipSync(result.outputFiles[0].contents, { level: 9 }).length;
}

const ALL = 'export * from "./index.js"';
const ONE = `export { createRuvdTransport, generateText } from "./index.js";
             export { createClient } from "@connectrpc/connect";
             export { InferenceService } from "./gen/ruvd/inference/v1/inference_pb.js"`;
const rows = [
  ["client with generated code and Connect, without the protobuf runtime", ALL, PROTOBUF],
  ["client with generated code alone", ALL, [...PROTOBUF, ...CONNECT]],
  ["everything", ALL, []],
  ["everything for InferenceService alone", ONE, []],
  ["player alone, which needs no runtime", 'export * from "./player/index.js"', []],
];
const sizes = [];
for (const [name, source, external] of rows) {
  sizes.push(await gzipBytes(source, external));
  console.log(`${String(sizes.at(-1)).padStart(7)} bytes  ${name}`);
}
if (sizes[0] > LIMIT) {
  console.error(`the client has ${sizes[0]} bytes, above its limit of ${LIMIT}`);
  process.exitCode = 1;
}
