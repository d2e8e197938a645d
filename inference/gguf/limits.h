// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// Limits of the GGUF format as we read and write it.
namespace ruvd::limits {

// The largest public models have a few thousand tensors; a larger count is a broken header.
inline constexpr uint64_t kMaxGgufTensors = 1 << 16;
// Models have some fifty keys.
inline constexpr uint64_t kMaxGgufKeys = 1 << 14;
// The format's own limit on key names.
inline constexpr uint64_t kMaxGgufKeyBytes = 65535;
// llama.cpp keeps tensor names in 64 bytes with the final zero; longer ones would not load there.
inline constexpr uint64_t kMaxTensorNameBytes = 63;
// Chat templates are the longest strings in practice, some ten kilobytes.
inline constexpr uint64_t kMaxGgufStringBytes = 1 << 24;
// Vocabularies reach some 300 000 entries; merges about the same.
inline constexpr uint64_t kMaxGgufArrayValues = 1 << 24;
// The format allows four.
inline constexpr uint32_t kMaxTensorDimensions = 4;
// Everything in use aligns to 32; a page is the largest sensible value.
inline constexpr uint64_t kMaxGgufAlignment = 1 << 16;
inline constexpr uint64_t kDefaultGgufAlignment = 32;

}  // namespace ruvd::limits
