// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace ruvd::hnsw {

// Nodes are numbered from 0; this is the number of none.
inline constexpr uint32_t kNoNode = 0xFFFFFFFF;

}  // namespace ruvd::hnsw
