// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::transport {

// Keeps gRPC's callback queue alive until the process ends. The process has one such queue, counted
// by the channels and servers that use the callback API. When the last of them ends, gRPC 1.51
// destroys the queue while its own threads still use it, and sometimes aborts the process
// ("ref_counted.h: assertion failed: prior > 0"). Call this before the callback API is used.
// Thread-safe; later calls do nothing.
void RetainCallbackQueue();

}  // namespace ruvd::transport
