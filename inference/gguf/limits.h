// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// Limits of the GGUF files that are read and written.
namespace ruvd::limits {

// The largest public models have a few thousand tensors. A larger count means a broken header.
inline constexpr uint64_t kMaxGgufTensors = 1 << 16;
// Models have about fifty keys.
inline constexpr uint64_t kMaxGgufKeys = 1 << 14;
// The format's own limit on key names.
inline constexpr uint64_t kMaxGgufKeyBytes = 65535;
// llama.cpp keeps tensor names in 64 bytes including the final zero; it could not load longer
// names.
inline constexpr uint64_t kMaxTensorNameBytes = 63;
// The longest strings in practice are chat templates of about ten kilobytes.
inline constexpr uint64_t kMaxGgufStringBytes = 1 << 24;
// The largest vocabularies have about 300 000 entries, and about as many merges.
inline constexpr uint64_t kMaxGgufArrayValues = 1 << 24;
// The format allows four dimensions.
inline constexpr uint32_t kMaxTensorDimensions = 4;
// All files in use align to 32 bytes. A memory page is the largest sensible alignment.
inline constexpr uint64_t kMaxGgufAlignment = 1 << 16;
inline constexpr uint64_t kDefaultGgufAlignment = 32;

}  // namespace ruvd::limits
