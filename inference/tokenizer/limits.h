// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// Limits on vocabularies and chats; a file or request beyond them is refused before memory is
// reserved for it.
namespace ruvd::limits {

// The largest vocabularies in use have some 262 000 tokens, and as many merges.
inline constexpr uint64_t kMaxVocabularyTokens = 1 << 22;
inline constexpr uint64_t kMaxVocabularyMerges = 1 << 22;
// The longest tokens in use are runs of 1024 spaces.
inline constexpr uint64_t kMaxTokenBytes = 1 << 13;
// All tokens together, and all merges; the vocabularies in use stay below ten megabytes.
inline constexpr uint64_t kMaxVocabularyBytes = 32 << 20;
// SentencePiece makes pieces of 16 characters unless told otherwise; every cut of a piece is looked
// at when the file is loaded.
inline constexpr uint64_t kMaxSentencePieceBytes = 256;
// Tokens that are looked for in every text; the longest in use have some fifty bytes.
inline constexpr uint64_t kMaxSpecialTokenBytes = 256;
// Templates in use have some ten kilobytes.
inline constexpr uint64_t kMaxChatTemplateBytes = 1 << 20;
// A context holds far fewer messages.
inline constexpr uint64_t kMaxChatMessages = 1 << 14;

}  // namespace ruvd::limits
