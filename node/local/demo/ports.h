// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace ruvd::cli {

// A TCP port of 127.0.0.1 that nobody listens on now: `wanted` if it is free and not 0, else any.
// Somebody may take it before the caller binds it.
absl::StatusOr<uint16_t> FreePort(uint16_t wanted);

}  // namespace ruvd::cli
