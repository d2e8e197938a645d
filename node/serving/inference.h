// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "inference/engine/generation.h"
#include "inference/tokenizer/chat_template.h"
#include "inference/train/score.h"

namespace ruvd::serving {

// An adapter that served a request, as reported to its caller.
struct AdapterUse {
  std::string name;
  uint32_t version = 0;
  float weight = 0;
  std::string pattern_id;  // empty for a federated adapter
  float similarity = 0;
};

// An adapter of the catalogue that a request asks for, in steps with t_min < t <= t_max.
struct AdapterChoice {
  std::string name;
  std::optional<uint32_t> version = {};  // nullopt: the served one
  float weight = 1;
  float t_min = 0;
  float t_max = 1;
};

struct GenerationStarted {
  std::string response_id;
  int prompt_tokens = 0;
  int window = 0;  // tokens from the first generated to the last one
  std::vector<AdapterUse> adapters;
  std::vector<inference::Commit> given;  // tokens between gaps
};

// The way of serving a request that a router chose.
struct RouteUse {
  std::string name;
  double probability = 0;  // that it is good enough; 0 where nobody knows
  bool explored = false;   // chosen at random
};

struct GenerationFinished {
  std::string response_id;
  inference::FinishReason reason = inference::FinishReason::kLength;
  int completion_tokens = 0;
  int steps = 0;
  int forwards = 0;
  double seconds = 0;
  double queue_seconds = 0;
  std::vector<AdapterUse> adapters;
  std::optional<RouteUse> route = std::nullopt;  // none: nothing was chosen
  std::vector<inference::Commit> tokens;         // where log-probabilities are asked for
};

// Receives the events of one generation, in order: OnStarted, any number of OnStep, then exactly
// one OnEnd; a generation that never started only gets OnEnd. Called from the actor's threads,
// never concurrently; implementations must not block.
class GenerationListener {
 public:
  virtual ~GenerationListener() = default;
  virtual void OnStarted(const GenerationStarted& started) = 0;
  virtual void OnStep(const inference::StepResult& step) = 0;
  virtual void OnEnd(const absl::StatusOr<GenerationFinished>& result) = 0;
  // True once nobody wants the result; polled between steps.
  virtual bool cancelled() const = 0;
};

// A piece of a text to infill: given, or `gap` tokens to fill.
struct TextPart {
  std::string text = {};
  int gap = 0;
};

// Messages to answer, the last one the user's; empty where a job is no chat.
struct Conversation {
  std::vector<inference::ChatMessage> messages = {};
  std::optional<inference::ChatFormat> format = {};  // nullopt: that of the model's chat template
};

struct GenerationJob {
  std::string prompt;
  // Not empty: a text with gaps; the prompt is then the text before the first one.
  std::vector<TextPart> parts = {};
  // Not empty: instead of prompt and parts.
  Conversation conversation = {};
  inference::SamplingOptions options;
  bool use_adapters = true;
  std::vector<AdapterChoice> adapters = {};  // empty: as configured
  std::string session_id;
  std::string user_id;  // empty: nobody's
  // Whether what its session was taught changes the completion, and its own tokens are kept for
  // feedback; nullopt: as configured. Needs a session_id.
  std::optional<bool> session_memory = std::nullopt;
  std::optional<TimePoint> deadline;
  std::shared_ptr<GenerationListener> listener;
};

struct ScoreJob {
  std::string prompt;
  std::string completion;
  std::optional<inference::DecodingMode> mode;  // nullopt: DefaultDecodingMode
  inference::ScoreOptions options;              // without the mode
  bool use_adapters = true;
  std::vector<AdapterChoice> adapters = {};
};

struct ScoreAnswer {
  double nats_per_token = 0;
  int tokens = 0;
  std::vector<AdapterUse> adapters;
};

struct EmbedAnswer {
  std::vector<float> embedding;
  int tokens = 0;
};

// The node's way to the model: admission, scheduling at step granularity, adapters, trajectories.
// All methods are thread-safe and return at once; callbacks run on the node's threads and must not
// block.
class InferenceActor {
 public:
  virtual ~InferenceActor() = default;
  // RESOURCE_EXHAUSTED when the queue is full, UNAVAILABLE when draining; then the listener is not
  // called.
  virtual absl::Status Generate(GenerationJob job) = 0;
  virtual absl::Status Score(ScoreJob job,
                             std::function<void(absl::StatusOr<ScoreAnswer>)> done) = 0;
  virtual absl::Status Embed(std::string text,
                             std::function<void(absl::StatusOr<EmbedAnswer>)> done) = 0;
  // Generations, scores and embeddings admitted and not ended yet.
  virtual uint64_t running() const = 0;
};

}  // namespace ruvd::serving
