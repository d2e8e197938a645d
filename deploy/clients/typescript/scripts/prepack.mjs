// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Puts into the package what belongs to it: a fresh build and the licence of the repository.

import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(dirname(fileURLToPath(import.meta.url)));
rmSync(join(folder, "dist"), { recursive: true, force: true });
execFileSync("npm", ["run", "build"], { cwd: folder, stdio: "inherit" });
copyFileSync(join(folder, "../../../LICENSE"), join(folder, "LICENSE"));
