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

// The texts of one node: what it trains on and what the experiment scores, which are files of
// different documents.
struct DomainText {
  std::string name;
  std::vector<inference::TrainingExample> train;
  Crops valid;
  Digest digest{};  // of all tokens, for names in a cache
};

// Reads at most so many pieces of the two files. Fails as ReadCrops does.
absl::StatusOr<DomainText> ReadDomain(const DomainFiles& files,
                                      const inference::Tokenizer& tokenizer, size_t train,
                                      size_t valid);

// Returns the SHA-256 over the tokens of pieces.
Digest DigestOf(const std::vector<inference::ScoredDocument>& pieces);

}  // namespace ruvd::bench
