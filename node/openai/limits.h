// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// Limits of requests in JSON.
namespace ruvd::limits {

// A conversation needs four levels; more than these are an attack or a mistake.
inline constexpr size_t kMaxJsonDepth = 32;
// Values in one text; each takes some 80 bytes of memory. The largest request is a conversation of
// kMaxChatMessages messages, with three values each.
inline constexpr size_t kMaxJsonValues = 65'536;
// Texts of one request for embeddings. They are embedded one after the other, each in its turn.
inline constexpr size_t kMaxEmbeddingInputs = 256;
// What a caller attaches to a request, as OpenAI limits it
inline constexpr size_t kMaxMetadataPairs = 16;
inline constexpr size_t kMaxMetadataKeyBytes = 64;
inline constexpr size_t kMaxMetadataValueBytes = 512;
// Tokens between a prompt and its suffix if a request does not say how many.
inline constexpr uint32_t kDefaultSuffixTokens = 64;
// What an error shows of its message, which may quote what the caller sent.
inline constexpr size_t kMaxErrorMessageBytes = 4'096;
// The largest number of tokens, steps or positions that a request may name.
inline constexpr uint64_t kMaxJsonCount = 1U << 20;
// Denoising frames of a stream come no more often; those between are merged.
inline constexpr std::chrono::milliseconds kFrameInterval{50};

}  // namespace ruvd::limits
