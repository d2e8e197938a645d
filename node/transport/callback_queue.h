// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::transport {

// Keeps gRPC's queue of callbacks for as long as the process lives. It is one for all, counted by
// the channels and servers that use the callback API; when the last of them goes, gRPC 1.51 ends it
// while its own threads are still in it, and at times aborts the process ("ref_counted.h: assertion
// failed: prior > 0"). Call before the callback API is used. Thread-safe; later calls do nothing.
void KeepCallbackQueue();

}  // namespace ruvd::transport
