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

// The pieces as text. Pieces that a token's border cuts inside a character are left out: no client
// can send such a text. `documents` gets, for each pair, that of its piece; may be null.
std::vector<TextPair> PairsOf(const Crops& crops, const inference::Tokenizer& tokenizer,
                              std::vector<size_t>* documents);

// Asks the node for a completion of each prompt, and tells it by an edit what it should have been:
// a user who corrects everything. Returns once every lesson is recorded; with learning paused none
// is learned yet, else all are.
absl::Status TeachAll(ServedNode& node, const std::vector<TextPair>& lessons);

}  // namespace ruvd::bench
