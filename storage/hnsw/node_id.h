// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::storage::hnsw {

// Nodes are numbered from 0; this is the number of none.
inline constexpr uint32_t kNoNode = 0xFFFFFFFF;

// The highest level of a graph: 16^16 rows would reach it with M = 16.
inline constexpr size_t kMaxLevel = 16;

}  // namespace ruvd::storage::hnsw
