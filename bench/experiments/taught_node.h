// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/served_node.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::bench {

// Beginning and end of a piece of text, as a user of the node would send them.
struct TextPair {
  std::string prompt;
  std::string completion;
};

// Returns the pieces as text. A piece is left out where the border of a token cuts a character,
// because no client can send such a text. `documents` gets, for each pair, the document of its
// piece; it may be null.
std::vector<TextPair> PairsOf(const Crops& crops, const inference::Tokenizer& tokenizer,
                              std::vector<size_t>* documents);

// Asks the node for a completion of each prompt, and then tells it by an edit what it should have
// been, as a user who corrects everything. Returns once every lesson is recorded. If learning is
// paused, no lesson is learned yet; otherwise all are.
absl::Status TeachAll(ServedNode& node, const std::vector<TextPair>& lessons);

}  // namespace ruvd::bench
