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
  std::string set;  // domain, or name of the file
  std::vector<inference::TokenId> tokens;
};

struct SessionShape {
  int requests = 20;
  int tokens = 64;    // of a request
  int context = 128;  // tokens before a request that it is given
};

// The documents of one file that are long enough for a session, cut to its length, at most
// `most` of them. The first token is given, not predicted.
absl::StatusOr<std::vector<Session>> ReadSessions(const std::string& path, const std::string& set,
                                                  const inference::Tokenizer& tokenizer,
                                                  const SessionShape& shape, size_t most);

// Names of the domains of a folder: X of every X.train.jsonl.zst, in order.
absl::StatusOr<std::vector<std::string>> DomainsIn(const std::string& folder);

// One token to predict, and what the model makes of its place.
struct Prediction {
  inference::TokenId target = 0;
  bool scored = true;  // else it is only there to be learned from
  double weight = 0;   // of its cross-entropy in the request's nats per token
  double t = 0;        // masked share of the window; 1 from left to right
};

// A request: what the frozen model says of each of its tokens.
struct RequestOutputs {
  std::vector<Prediction> predictions;
  std::vector<float> hidden;  // predictions x width
  std::vector<float> logits;  // predictions x vocabulary
};

// The seed of the masks of a session, the place-th of an experiment. Sessions with the same masks
// would tie the masked share to the number of the request, and share its noise.
uint64_t MaskSeed(uint64_t seed, size_t place);

// Masked: an exact-count mask of the request's tokens given the context before it, drawn from
// `seed`; those scored are the masked ones, with weight 1/t / tokens. The others are predicted, to
// be learned from, under the complementary mask, so that every token has a hidden state of a masked
// position, as when it is committed. Else from left to right, all scored.
absl::StatusOr<RequestOutputs> PredictRequest(inference::Transformer& transformer,
                                              const Session& session, const SessionShape& shape,
                                              int request, bool masked, uint64_t seed);

// -log softmax(logits)[target]
double CrossEntropyOf(std::span<const float> logits, inference::TokenId target);

}  // namespace ruvd::bench
