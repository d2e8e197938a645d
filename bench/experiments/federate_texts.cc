// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_texts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::bench {
namespace {

// Returns `most` of them at even distances.
Crops Spread(const Crops& all, size_t most) {
  const size_t count = std::min(most, all.pieces.size());
  Crops chosen;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * all.pieces.size() / count;
    chosen.pieces.push_back(all.pieces[at]);
    chosen.documents.push_back(all.documents[at]);
  }
  return chosen;
}

}  // namespace

absl::StatusOr<SplitPieces> SplitByDocument(const Crops& all, const TextSizes& sizes) {
  constexpr size_t kEvery = 10;
  Crops train;
  Crops held_out;
  for (size_t i = 0; i < all.pieces.size(); ++i) {
    Crops& to = all.documents[i] % kEvery == 0 ? held_out : train;
    to.pieces.push_back(all.pieces[i]);
    to.documents.push_back(all.documents[i]);
  }
  if (train.pieces.empty() || held_out.pieces.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a train file has too few long documents to hold some out for the gate; give more "
                 "text");
  }
  return SplitPieces{.train = Spread(train, sizes.train),
                     .held_out = Spread(held_out, sizes.held_out)};
}

Digest DigestOf(const std::vector<inference::ScoredDocument>& pieces) {
  ByteWriter writer;
  for (const inference::ScoredDocument& piece : pieces) {
    for (const std::vector<inference::TokenId>* part : {&piece.prompt, &piece.completion}) {
      writer.Write(static_cast<uint64_t>(part->size()));
      for (const inference::TokenId token : *part) {
        writer.Write(token);
      }
    }
  }
  return Sha256(writer.str());
}

absl::StatusOr<DomainText> ReadDomain(const DomainFiles& files,
                                      const inference::Tokenizer& tokenizer,
                                      const TextSizes& sizes) {
  ASSIGN_OR_RETURN(const Crops all,
                   ReadCrops(files.train, tokenizer, {}, std::numeric_limits<size_t>::max()));
  ASSIGN_OR_RETURN(SplitPieces split, SplitByDocument(all, sizes));
  DomainText text{.name = files.name,
                  .train = split.train.Examples(),
                  .held_out = std::move(split.held_out),
                  .valid = {}};
  ASSIGN_OR_RETURN(text.valid, ReadCrops(files.valid, tokenizer, {}, sizes.valid));
  text.digest = Sha256(
      {DigestOf(split.train.pieces), DigestOf(text.held_out.pieces), DigestOf(text.valid.pieces)});
  return text;
}

}  // namespace ruvd::bench
