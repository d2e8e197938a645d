// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/scored_text.h"

#include <set>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "inference/evaluate/text_documents.h"

namespace ruvd::bench {
namespace {

using inference::TokenId;

constexpr size_t kSharedTokens = 12;  // of a stretch that is no accident

}  // namespace

absl::StatusOr<Documents> ReadTokens(const std::string& path, const inference::Tokenizer& tokenizer,
                                     size_t most_bytes) {
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, inference::ReadTextDocuments(path));
  Documents documents;
  for (const std::string& text : texts) {
    documents.push_back(tokenizer.Encode(text.substr(0, most_bytes)));
  }
  return documents;
}

ScoredText CutForScoring(const Documents& documents,
                         const inference::MemoryLearningOptions& options, size_t most) {
  ScoredText text;
  for (size_t i = 0; i < documents.size(); ++i) {
    const size_t each = most / documents.size() + 1;
    Documents own = inference::SpreadPieces(std::span(&documents[i], 1), options, each);
    for (std::vector<TokenId>& piece : own) {
      if (text.pieces.size() < most) {
        text.pieces.push_back(std::move(piece));
        text.documents.push_back(i);
      }
    }
  }
  return text;
}

void MarkShared(std::span<const inference::ObservedPiece> remembered, ScoredText* text) {
  using Stretch = std::basic_string_view<TokenId>;
  std::set<Stretch> known;
  const auto stretches = [](const std::vector<TokenId>& tokens, const auto& take) {
    for (size_t i = 0; i + kSharedTokens <= tokens.size(); ++i) {
      take(Stretch(tokens.data() + i, kSharedTokens));
    }
  };
  for (const inference::ObservedPiece& piece : remembered) {
    stretches(piece.tokens, [&](Stretch one) { known.insert(one); });
  }
  for (const std::vector<TokenId>& piece : text->pieces) {
    bool shared = false;
    stretches(piece, [&](Stretch one) { shared = shared || known.contains(one); });
    text->shared.push_back(shared);
  }
}

}  // namespace ruvd::bench
