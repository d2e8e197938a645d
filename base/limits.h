// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// Limits that several rooms share. A room's own limits live in its limits.h, each with its reason.
namespace ruvd::limits {

// Configuration files are written by hand; a larger one is the wrong file.
inline constexpr uint64_t kMaxConfigBytes = 1 << 20;
// Limit for identity, certificate and token files.
inline constexpr uint64_t kMaxKeyFileBytes = 64 << 10;

}  // namespace ruvd::limits
