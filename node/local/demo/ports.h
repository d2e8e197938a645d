// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace ruvd::cli {

// Returns a TCP port of 127.0.0.1 without a listener: `wanted` if that is free and not 0, else any.
// Another process may take the port before the caller binds it.
absl::StatusOr<uint16_t> FreePort(uint16_t wanted);

}  // namespace ruvd::cli
