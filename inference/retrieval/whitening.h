// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/gguf/reader.h"
#include "inference/tokenizer/tokenizer.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// Cosines at which two texts are taken to be about the same thing, and one to be a new version of
// the other. One in 300 to 1000 pairs of unrelated passages is above the first, whitened or plain:
// `bench/embedding_study`.
struct SimilarityScale {
  float related = 0.60F;
  float same = 0.80F;
};
inline constexpr SimilarityScale kPlainSimilarity{.related = 0.60F, .same = 0.80F};
inline constexpr SimilarityScale kWhitenedSimilarity{.related = 0.30F, .same = 0.55F};

// What makes embeddings of a model comparable: mean-pooled hidden states share a few strong
// directions, whatever the text says, so that their plain cosine is high for everything. Taking the
// mean away and scaling every direction by its spread over ordinary text ("whitening", Su et al.,
// arXiv 2103.15316) leaves what tells texts apart. The statistics belong to one model; they are
// estimated once on public text and shipped beside it. Immutable, hence thread-safe.
class Whitening {
 public:
  // From `rows` (count x width) of embeddings as EmbedTokens makes them. `shrinkage`, above 0 and
  // at most 1, is the share of the mean variance that is mixed into every direction's own, so that
  // directions without spread are not blown up to noise (Ledoit and Wolf 2004, with a fixed share).
  // INVALID_ARGUMENT for fewer rows than 2 or a value out of range, a width above
  // limits::kMaxWhiteningWidth, values that are not finite or do not vary.
  static absl::StatusOr<Whitening> Estimate(const Digest& model_hash, std::span<const float> rows,
                                            int width, float shrinkage);

  // Reads a GGUF file that WriteTo made. MODEL_MISMATCH unless it was estimated for
  // `model_hash`, FILE_UNREADABLE for any other content, and the errors of reading a GGUF file.
  static absl::StatusOr<Whitening> Load(const std::string& path, const Digest& model_hash);
  // The same for an open file; `name` is for messages.
  static absl::StatusOr<Whitening> Read(const GgufReader& file, const std::string& name,
                                        const Digest& model_hash);
  absl::StatusOr<std::string> Serialize() const;
  absl::Status WriteTo(const std::string& path) const;

  int width() const { return width_; }
  // SHA-256 of the statistics.
  Digest id() const;

  // The whitened embedding of a text, normalised to length one. `embedding` has width() values. One
  // that equals the mean has no direction and comes back as it is.
  std::vector<float> Apply(std::span<const float> embedding) const;

 private:
  Whitening(const Digest& model_hash, int width) : model_hash_(model_hash), width_(width) {}

  Digest model_hash_;
  int width_;
  std::vector<float> mean_;
  // Row major inverse of the Cholesky factor of the covariance: lower triangular, width x width.
  // Any whitening differs from any other by a rotation, which no cosine sees.
  std::vector<float> transform_;
};

// EmbedTokens, whitened where `whitening` is not null: the embedding that patterns are stored and
// searched by.
absl::StatusOr<std::vector<float>> EmbedText(Transformer& transformer,
                                             std::span<const TokenId> tokens,
                                             const Whitening* whitening);

}  // namespace ruvd::inference
