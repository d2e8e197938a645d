// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// Limits of vocabularies and chats. A larger file or request is refused before memory is reserved
// for it.
namespace ruvd::limits {

// The largest vocabularies in use have about 262 000 tokens, and as many merges.
inline constexpr uint64_t kMaxVocabularyTokens = 1 << 22;
inline constexpr uint64_t kMaxVocabularyMerges = 1 << 22;
// The longest tokens in use are runs of 1024 spaces.
inline constexpr uint64_t kMaxTokenBytes = 1 << 13;
// The bytes of all tokens together, and of all merges. Vocabularies in use stay below ten
// megabytes.
inline constexpr uint64_t kMaxVocabularyBytes = 32 << 20;
// SentencePiece limits pieces to 16 characters by default. Loading examines every way to cut a
// piece in two.
inline constexpr uint64_t kMaxSentencePieceBytes = 256;
// Special tokens are searched for in every text. The longest in use have about fifty bytes.
inline constexpr uint64_t kMaxSpecialTokenBytes = 256;
// Templates in use have about ten kilobytes.
inline constexpr uint64_t kMaxChatTemplateBytes = 1 << 20;
// A context has room for far fewer messages.
inline constexpr uint64_t kMaxChatMessages = 1 << 14;

}  // namespace ruvd::limits
