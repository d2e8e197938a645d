// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>

#include "absl/status/status.h"
#include "privacy/identity/node_key.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::serving {

// Calls `visit` for every pattern of `origin`, in order of id. Skips damaged patterns with a
// warning. Returns the first other error.
absl::Status ForEachPatternOf(storage::PatternStore& patterns, const privacy::NodeId& origin,
                              const std::function<absl::Status(storage::Pattern&)>& visit);

}  // namespace ruvd::serving
