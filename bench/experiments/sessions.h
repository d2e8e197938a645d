// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {

// A document as a session of requests of equal length, and where it is from.
struct Session {
  std::string set;      // domain, or name of the file
  size_t document = 0;  // number in the file
  std::vector<inference::TokenId> tokens;
};

struct SessionShape {
  int requests = 20;
  int tokens = 64;    // of a request
  int context = 128;  // tokens before a request that it is given
};

// Reads the documents of one file that are long enough for a session, cut to its length; at most
// `most` of them. The first token is given, not predicted.
absl::StatusOr<std::vector<Session>> ReadSessions(const std::string& path, const std::string& set,
                                                  const inference::Tokenizer& tokenizer,
                                                  const SessionShape& shape, size_t most);

// Returns the names of the domains of a folder: X of every X.train.jsonl.zst, in order.
absl::StatusOr<std::vector<std::string>> DomainsIn(const std::string& folder);

// One token to predict, and what the model makes of its place.
struct Prediction {
  inference::TokenId target = 0;
  bool scored = true;  // false: only there to be learned from
  double weight = 0;   // of its cross-entropy in the request's nats per token
  double t = 0;        // masked share of the window; 1 from left to right
};

// What one forward read, and which of its positions were predicted.
struct PredictedWindow {
  std::vector<inference::TokenId> tokens;  // as the model reads them; all if from left to right
  std::vector<int> positions;              // ascending
  bool causal = false;
};

// A request with what the frozen model says about each of its tokens.
struct RequestOutputs {
  std::vector<inference::TokenId> tokens;  // the request with its context
  size_t first = 0;                        // of them, that belongs to the request
  std::vector<PredictedWindow> windows;    // of the predictions, in order
  std::vector<Prediction> predictions;
  std::vector<float> hidden;  // predictions x width
  std::vector<float> logits;  // predictions x vocabulary
};

// Returns the seed of the masks of a session, the place-th of an experiment. If sessions shared
// their masks, the masked share would depend on the number of the request, and they would share its
// noise.
uint64_t MaskSeed(uint64_t seed, size_t place);

// Masked: draws an exact-count mask of the request's tokens from `seed`, given the context before
// it; the masked tokens are scored, with weight 1/t / tokens. The other tokens are predicted under
// the complementary mask, only to be learned from, so that every token has a hidden state of a
// masked position, as when it is committed. Otherwise predicts from left to right, and all tokens
// are scored.
absl::StatusOr<RequestOutputs> PredictRequest(inference::Transformer& transformer,
                                              const Session& session, const SessionShape& shape,
                                              int request, bool masked, uint64_t seed);

// -log softmax(logits)[target]
double CrossEntropyOf(std::span<const float> logits, inference::TokenId target);

}  // namespace ruvd::bench
