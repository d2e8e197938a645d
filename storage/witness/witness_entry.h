// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ruvd::storage {

// How long the parts of a request took, in milliseconds, never negative. Skipped parts have 0.
struct WitnessLatency {
  float embedding_ms = 0;
  float retrieval_ms = 0;
  float routing_ms = 0;
  float attention_ms = 0;
  float generation_ms = 0;
  float total_ms = 0;  // from admission to the end, queue included
  float queue_ms = 0;
};

// The decisions made before the model ran.
struct WitnessRouting {
  std::string model;
  uint32_t context_size = 0;  // size of the chosen bucket, in tokens
  float temperature = 0;
  float top_p = 0;
  float confidence = 0;            // confidence of the router, 0 to 1
  std::vector<float> model_probs;  // one for each model that the router knows
  std::string route = {};          // the route that served it; empty: served as requested
};

struct WitnessError {
  std::string reason;   // of base/reasons.h
  std::string message;  // cause and remedy; never a user's words
  bool operator==(const WitnessError&) const = default;
};

// The 16-byte id of a pattern or document
using RetrievedId = std::array<uint8_t, 16>;

// What one request did, for operators who look for slow, bad or failed requests, and for learning.
// It contains no text of users, but embeddings, which reveal much of a text: it is sealed on disk.
// All texts in it are UTF-8.
struct WitnessEntry {
  std::string request_id;  // 1 to limits::kMaxResponseIdBytes bytes; the response id
  std::string session_id;
  // The user whose key seals the embeddings. It is not stored, so that nothing names an erased
  // user. Empty: no user.
  std::string user_id;
  // This is stored instead: the embeddings were sealed for a user, so an erasure may have removed
  // them.
  bool of_user = false;
  std::vector<float> query_embedding;
  std::string embedded_by;  // id of the model package that made the embeddings
  WitnessRouting routing;
  std::string model_used;
  std::optional<float> quality;  // 0 to 1; absent until the request is judged
  WitnessLatency latency;
  std::vector<RetrievedId> retrieved_ids;
  std::vector<std::string> adapters;  // name@version
  std::vector<float> response_embedding;
  int64_t timestamp_ms = 0;  // end of the request, UTC, not negative
  std::optional<WitnessError> error;
  uint32_t prompt_tokens = 0;
  uint32_t completion_tokens = 0;
  uint64_t memory_entries = 0;  // tokens that the memory of lessons had for this request
  float memory_share = 0;       // 0 to 1: its mean share in the predictions of tokens
};

}  // namespace ruvd::storage
