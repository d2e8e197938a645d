// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::node {

// Protects the memory of this process, which holds the keys of the data at rest: the operating
// system writes no core dump, and no other process of the same user may attach. Existing threads
// and child processes are not affected, so call it before anything else.
void ProtectProcessMemory();

}  // namespace ruvd::node
