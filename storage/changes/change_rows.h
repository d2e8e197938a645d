// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "storage/changes/learning_change.h"

// Keys and plaintexts of the family `change`, which docs/store-format.md describes.
namespace ruvd::storage::changes {

inline constexpr char kChangePrefix[] = "c/";
inline constexpr char kImagePrefix[] = "b/";
inline constexpr char kAnswerPrefix[] = "a/";
inline constexpr char kAnswerOrderPrefix[] = "o/";
inline constexpr char kPausedKey[] = "paused";

std::string ChangeKey(uint64_t number);
std::string ImageKey(uint64_t number, uint32_t index);
// Contains the SHA-256 of the client's name for its feedback.
std::string AnswerKey(const Digest& key);
std::string AnswerOrderKey(uint64_t number);
// Returns the number in the key of a change, an image or an answer's order; nullopt for other keys.
std::optional<uint64_t> NumberOfKey(std::string_view key);

// Encodes all of a change but its number, which is in the key.
std::string EncodeChange(const LearningChange& change);
// Returns STORE_CORRUPT for bytes that EncodeChange does not make.
absl::StatusOr<LearningChange> DecodeChange(std::string_view bytes, uint64_t number);

std::string EncodeImage(const PatternImage& image);
// Returns STORE_CORRUPT for bytes that EncodeImage does not make.
absl::StatusOr<PatternImage> DecodeImage(std::string_view bytes);

}  // namespace ruvd::storage::changes
