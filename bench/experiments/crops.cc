// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/crops.h"

#include <algorithm>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/text_documents.h"

namespace ruvd::bench {

std::vector<inference::TrainingExample> Crops::Examples() const {
  std::vector<inference::TrainingExample> examples;
  for (const inference::ScoredDocument& piece : pieces) {
    examples.push_back({.prompt = piece.prompt, .completion = piece.completion});
  }
  return examples;
}

absl::StatusOr<Crops> ReadCrops(const std::string& path, const inference::Tokenizer& tokenizer,
                                const CropShape& shape, size_t most) {
  ASSIGN_OR_RETURN(const std::vector<std::string> documents, inference::ReadTextDocuments(path));
  const auto length = static_cast<std::ptrdiff_t>(shape.tokens);
  const auto given = static_cast<std::ptrdiff_t>(shape.tokens - shape.window);
  Crops all;
  for (size_t number = 0; number < documents.size(); ++number) {
    const std::vector<inference::TokenId> tokens =
        EncodeDocuments(tokenizer, std::span(documents).subspan(number, 1));
    for (auto from = tokens.begin(); tokens.end() - from >= length; from += length) {
      all.pieces.push_back(
          {.prompt = {from, from + given}, .completion = {from + given, from + length}});
      all.documents.push_back(number);
    }
  }
  if (all.pieces.empty() || most == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} has no document of {} tokens; give longer texts or shorter pieces", path,
                 shape.tokens);
  }
  const size_t count = std::min(most, all.pieces.size());
  Crops chosen;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * all.pieces.size() / count;
    chosen.pieces.push_back(std::move(all.pieces[at]));
    chosen.documents.push_back(all.documents[at]);
  }
  return chosen;
}

}  // namespace ruvd::bench
