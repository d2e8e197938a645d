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

// Plain prose on everyday things, written for this purpose: the kind of text no adapter should make
// worse. GeneralText is mixed into what deep rounds learn; GateText only measures, so that nobody
// is judged by what was taught.
std::span<const std::string_view> GeneralText();
std::string_view GateText();

// General text as a model reads it, in passages that fit its context, each of at least two tokens.
struct GeneralPassages {
  std::vector<std::vector<inference::TokenId>> replayed;  // mixed into what a deep round learns
  std::vector<std::vector<inference::TokenId>> measured;  // none of them is ever replayed
  bool operator==(const GeneralPassages&) const = default;
};

// The texts above.
GeneralPassages BuiltInPassages(const inference::Model& model);

// Those of documents: cut into pieces of limits::kGeneralPassageTokens tokens, what is left over at
// a document's end left out where it is short. An eighth of them, limits::kMaxMeasuredPassages at
// most, measures; which ones follows from their content alone, so that no order of the documents
// moves a passage from one side to the other. INVALID_ARGUMENT where there are fewer than
// limits::kLeastGeneralPassages. What is beyond limits::kMaxReplayedPassages is not replayed.
absl::StatusOr<GeneralPassages> PassagesOf(std::span<const std::string> documents,
                                           const inference::Model& model);

// Those of a file as ReadTextDocuments reads it. Its errors and those above, naming the file;
// LIMIT_EXCEEDED above limits::kMaxGeneralTextBytes.
absl::StatusOr<GeneralPassages> ReadGeneralText(const std::string& path,
                                                const inference::Model& model);

}  // namespace ruvd::learning
