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

// Cosine thresholds: at `related` two texts are taken to be about the same subject, at `same` one
// is taken to be a new version of the other. One in 300 to 1000 pairs of unrelated passages exceeds
// `related`, with or without whitening (measured with `bench/embedding_study`).
struct SimilarityThresholds {
  float related = 0.60F;
  float same = 0.80F;
};
inline constexpr SimilarityThresholds kPlainSimilarity{.related = 0.60F, .same = 0.80F};
inline constexpr SimilarityThresholds kWhitenedSimilarity{.related = 0.30F, .same = 0.55F};

// Makes the embeddings of a model comparable. Mean-pooled hidden states share a few strong
// directions whatever the text says, so the plain cosine of any two texts is high. Subtracting the
// mean and scaling every direction by its spread over ordinary text ("whitening", Su et al., arXiv
// 2103.15316) leaves what distinguishes texts. The statistics belong to one model; they are
// estimated once on public text and shipped beside the model. Instances are immutable, hence
// thread-safe.
class Whitening {
 public:
  // Estimates the statistics from `rows` (count x width), embeddings made by EmbedTokens.
  // `shrinkage`, above 0 and at most 1, is the share of the mean variance that is mixed into the
  // variance of every direction, so that directions without spread are not amplified to noise
  // (Ledoit and Wolf 2004, with a fixed share). INVALID_ARGUMENT for fewer than 2 rows, a value out
  // of range, a width above limits::kMaxWhiteningWidth, or values that are not finite or do not
  // vary.
  static absl::StatusOr<Whitening> Estimate(const Digest& model_hash, std::span<const float> rows,
                                            int width, float shrinkage);

  // Reads a GGUF file that WriteTo wrote. Returns MODEL_MISMATCH if it was estimated for another
  // model than `model_hash`, FILE_UNREADABLE for any other content, and the errors of reading a
  // GGUF file.
  static absl::StatusOr<Whitening> Load(const std::string& path, const Digest& model_hash);
  // Works like Load, for an open file. `name` is used in error messages.
  static absl::StatusOr<Whitening> Read(const GgufReader& file, const std::string& name,
                                        const Digest& model_hash);
  absl::StatusOr<std::string> Serialize() const;
  absl::Status WriteTo(const std::string& path) const;

  int width() const { return width_; }
  // The SHA-256 of the statistics
  Digest id() const;

  // Returns the whitened embedding of a text, normalised to length one. `embedding` must have
  // width() values. An embedding that equals the mean has no direction and is returned unchanged.
  std::vector<float> Apply(std::span<const float> embedding) const;

 private:
  Whitening(const Digest& model_hash, int width) : model_hash_(model_hash), width_(width) {}

  Digest model_hash_;
  int width_;
  std::vector<float> mean_;
  // Row-major inverse of the Cholesky factor of the covariance: lower triangular, width x width.
  // Any two whitening transforms differ by a rotation, which does not change a cosine.
  std::vector<float> transform_;
};

// Returns EmbedTokens, whitened if `whitening` is not null. This is the embedding that patterns are
// stored and searched by.
absl::StatusOr<std::vector<float>> EmbedText(Transformer& transformer,
                                             std::span<const TokenId> tokens,
                                             const Whitening* whitening);

}  // namespace ruvd::inference
