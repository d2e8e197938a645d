// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Writes src/gen from the protos of the API. It needs protoc, which Debian has as
// protobuf-compiler.
//
//   npm run generate               replaces src/gen
//   npm run generate -- --check    fails if src/gen is not what would be written

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const HEADER = [
  "// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors",
  "// SPDX-License-Identifier: Apache-2.0",
].join("\n");

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const protos = join(folder, "../../../proto/api");
const generated = join(folder, "src/gen");

// Returns the names of the files below `root`, relative to it.
function filesBelow(root, ending) {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

function read(root) {
  const names = filesBelow(root, "");
  return new Map(names.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}

// The new files lie beside the old ones, so that they can take their place.
mkdirSync(join(folder, "build"), { recursive: true });
const fresh = mkdtempSync(join(folder, "build/gen-"));
try {
  execFileSync(
    "protoc",
    [
      `--proto_path=${protos}`,
      `--plugin=protoc-gen-es=${join(folder, "node_modules/.bin/protoc-gen-es")}`,
      `--es_out=${fresh}`,
      "--es_opt=target=ts,import_extension=js",
      ...filesBelow(protos, ".proto"),
    ],
    { stdio: "inherit" },
  );
  const files = read(fresh);
  for (const [name, text] of files) {
    if (!text.startsWith(HEADER)) {
      throw new Error(`${name} has no SPDX header; add it above the syntax of its proto`);
    }
  }
  if (process.argv.includes("--check")) {
    const old = read(generated);
    const differing = [...new Set([...files.keys(), ...old.keys()])].filter(
      (name) => files.get(name) !== old.get(name),
    );
    if (differing.length > 0) {
      throw new Error(`src/gen is out of date: ${differing.join(", ")}; run: npm run generate`);
    }
    console.log(`src/gen: ${files.size} files are up to date`);
  } else {
    rmSync(generated, { recursive: true, force: true });
    renameSync(fresh, generated);
    console.log(`src/gen: ${files.size} files are written`);
  }
} catch (error) {
  const missing = error.code === "ENOENT" && error.path === "protoc";
  console.error(missing ? "protoc is missing; install protobuf-compiler" : error.message);
  process.exitCode = 1;
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
