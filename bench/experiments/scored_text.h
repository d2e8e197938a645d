// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/memory/learning/learn_parameters.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::bench {

using Documents = std::vector<std::vector<inference::TokenId>>;

// A domain or general text, cut for scoring.
struct ScoredText {
  Documents pieces;
  std::vector<size_t> documents;  // of the pieces
  std::vector<bool> shared;       // whether the largest memory has a stretch of the piece
};

// Reads the documents of a file, the first `most_bytes` of each. Returns the errors of
// ReadTextDocuments.
absl::StatusOr<Documents> ReadTokens(const std::string& path, const inference::Tokenizer& tokenizer,
                                     size_t most_bytes);

// Cuts at most `most` pieces from the documents, about as many from each.
ScoredText CutForScoring(const Documents& documents,
                         const inference::MemoryLearningOptions& options, size_t most);

// Marks the pieces that have a stretch of tokens with the remembered ones in common.
void MarkShared(std::span<const inference::ObservedPiece> remembered, ScoredText* text);

}  // namespace ruvd::bench
