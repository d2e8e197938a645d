// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_texts.h"

#include "base/status.h"

namespace ruvd::bench {

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
                                      const inference::Tokenizer& tokenizer, size_t train,
                                      size_t valid) {
  ASSIGN_OR_RETURN(const Crops lessons, ReadCrops(files.train, tokenizer, {}, train));
  DomainText text{.name = files.name, .train = lessons.Examples(), .valid = {}};
  ASSIGN_OR_RETURN(text.valid, ReadCrops(files.valid, tokenizer, {}, valid));
  text.digest = Sha256({DigestOf(lessons.pieces), DigestOf(text.valid.pieces)});
  return text;
}

}  // namespace ruvd::bench
