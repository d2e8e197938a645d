// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// The public API as its clients know it. Clients know no room of a node, so the figures and names
// of those rooms stand here once more; api/api_limits.cc fails to compile where a figure differs,
// and a test compares the names.
namespace ruvd::limits {

inline constexpr int kPatternBanks = 3;
inline constexpr uint32_t kMaxEmbeddingDimension = 16384;
inline constexpr size_t kMaxPatternTaskBytes = 256;
inline constexpr size_t kMaxPatternAdapterBytes = 8 << 20;
// Nodes of one masked sum.
inline constexpr size_t kMinMaskedNodes = 4;
inline constexpr size_t kMaxMaskedNodes = 16;

inline constexpr char kSamplerNames[] =
    "ancestral, low_confidence, margin, entropy, random, position, threshold, factor, "
    "entropy_bounded, klass, remdm";
inline constexpr char kRemaskNames[] = "cap, rescale, confidence";
inline constexpr char kChatFormatNames[] =
    "plain, chatml, llama-3, llama-2, mistral, mistral-v3, mistral-tekken, phi-3, zephyr";

}  // namespace ruvd::limits
