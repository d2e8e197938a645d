// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "absl/status/statusor.h"

namespace ruvd::node {

// Raises the limit of open descriptors of this process (RLIMIT_NOFILE) to what it may be, and
// returns it. LIMIT_EXCEEDED if that is too low for a node: then strangers could take the last
// descriptor from the store.
absl::StatusOr<size_t> RaiseDescriptorLimit();

}  // namespace ruvd::node
