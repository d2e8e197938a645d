// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::node {

// Keys of the data at rest are in this process's memory, and with them everything: the operating
// system writes no core dump of it, and no other process of the same user may attach to it. Threads
// and children that exist already keep what they have, so call it first of all.
void KeepMemoryPrivate();

}  // namespace ruvd::node
