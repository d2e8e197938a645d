// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/model/model.h"

namespace ruvd::learning {

// Plain prose about everyday things, written for this purpose: the kind of text that no adapter
// should make worse. GeneralText is mixed into what deep rounds learn. GateText is only measured
// on, so that adapters are never judged by text they were taught.
std::span<const std::string_view> GeneralText();
std::string_view GateText();

// General text as tokens, in passages that fit the model's context and have at least two tokens.
struct GeneralPassages {
  std::vector<std::vector<inference::TokenId>> replayed;  // mixed into what a deep round learns
  std::vector<std::vector<inference::TokenId>> measured;  // never replayed
  bool operator==(const GeneralPassages&) const = default;
};

// Returns the passages of the texts above.
GeneralPassages BuiltInPassages(const inference::Model& model);

// Cuts documents into passages of limits::kGeneralPassageTokens tokens; a short rest at a
// document's end is left out. An eighth of the passages, at most limits::kMaxMeasuredPassages, is
// used for measuring. Which ones follows from their content alone, so that the order of the
// documents does not matter. Replays at most limits::kMaxReplayedPassages. Returns INVALID_ARGUMENT
// for fewer than limits::kMinGeneralPassages passages. An operator's documents have at most
// limits::kMaxGeneralTextBytes.
absl::StatusOr<GeneralPassages> PassagesOf(std::span<const std::string> documents,
                                           const inference::Model& model);

}  // namespace ruvd::learning
