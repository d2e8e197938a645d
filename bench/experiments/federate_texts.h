// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/federate_settings.h"
#include "inference/model/model.h"
#include "inference/train/losses.h"

namespace ruvd::bench {

// The texts of one node: what it trains on, what its gate holds out of the same file, and what the
// experiment scores. No document is in two of them.
struct DomainText {
  std::string name;
  std::vector<inference::TrainingExample> train;
  Crops held_out;
  Crops valid;
  Digest digest{};  // of all tokens, for names in a cache
};

struct TextSizes {
  size_t train = 2000;
  size_t held_out = 48;
  size_t valid = 80;
};

// Pieces of a file for training and for the gate: every tenth document is held out. There are at
// most as many pieces as asked for, at even distances. INVALID_ARGUMENT means that nothing is left
// for one of the two.
struct SplitPieces {
  Crops train;
  Crops held_out;
};
absl::StatusOr<SplitPieces> SplitByDocument(const Crops& all, const TextSizes& sizes);

absl::StatusOr<DomainText> ReadDomain(const DomainFiles& files,
                                      const inference::Tokenizer& tokenizer,
                                      const TextSizes& sizes);

// Returns the SHA-256 over the tokens of pieces.
Digest DigestOf(const std::vector<inference::ScoredDocument>& pieces);

}  // namespace ruvd::bench
