// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::storage::hnsw {

// Nodes are numbered from 0. This number stands for no node.
inline constexpr uint32_t kNoNode = 0xFFFFFFFF;

// The highest level of a graph. With M = 16 it takes about 16^16 rows to reach it.
inline constexpr size_t kMaxLevel = 16;

}  // namespace ruvd::storage::hnsw
