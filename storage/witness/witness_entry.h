// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ruvd::storage {

// Where the time of a request went, in milliseconds, none negative. What a request did not do is 0.
struct WitnessLatency {
  float embedding_ms = 0;
  float retrieval_ms = 0;
  float routing_ms = 0;
  float attention_ms = 0;
  float generation_ms = 0;
  float total_ms = 0;  // from admission to the end, queue included
  float queue_ms = 0;
};

// What was decided before the model ran.
struct WitnessRouting {
  std::string model;
  uint32_t context_size = 0;  // tokens of the bucket
  float temperature = 0;
  float top_p = 0;
  float confidence = 0;            // of the router, 0 to 1
  std::vector<float> model_probs;  // by model the router knows
  std::string route = {};          // the way of serving it that was chosen; empty: as asked
};

struct WitnessError {
  std::string reason;   // of base/reasons.h
  std::string message;  // cause and remedy; never a user's words
  bool operator==(const WitnessError&) const = default;
};

// 16 bytes of a pattern or document.
using RetrievedId = std::array<uint8_t, 16>;

// What one request did: for operators who look for slow, bad or failed ones, and for learning. It
// holds no text of users, but embeddings, which give much of a text away: it is sealed on disk.
// What is text in it is UTF-8.
struct WitnessEntry {
  std::string request_id;  // 1 to limits::kMaxResponseIdBytes bytes; the response id
  std::string session_id;
  // Whose key seals the embeddings; not stored, so that nothing names an erased user. Empty:
  // none's.
  std::string user_id;
  // Stored instead: the embeddings were sealed for a user, so that an erasure may have taken them.
  bool of_user = false;
  std::vector<float> query_embedding;
  std::string embedded_by;  // id of the model package that made the embeddings
  WitnessRouting routing;
  std::string model_used;
  std::optional<float> quality;  // 0 to 1; none until somebody or something judged
  WitnessLatency latency;
  std::vector<RetrievedId> retrieved_ids;
  std::vector<std::string> adapters;  // name@version
  std::vector<float> response_embedding;
  int64_t timestamp_ms = 0;  // of the end, UTC, not negative
  std::optional<WitnessError> error;
  uint32_t prompt_tokens = 0;
  uint32_t completion_tokens = 0;
};

}  // namespace ruvd::storage
