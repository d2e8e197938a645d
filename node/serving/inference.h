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

namespace ruvd::inference {
class Grammar;
}  // namespace ruvd::inference

namespace ruvd::serving {

// An adapter that served a request, as reported to the caller.
struct AdapterUse {
  std::string name;
  uint32_t version = 0;
  float weight = 0;
  std::string pattern_id;  // empty if it is not a pattern's adapter
  float similarity = 0;
};

// An adapter of the catalogue that a request asks for, in the steps with t_min < t <= t_max.
struct AdapterChoice {
  std::string name;
  std::optional<uint32_t> version = {};  // nullopt: the served version
  float weight = 1;
  float t_min = 0;
  float t_max = 1;
};

struct GenerationStarted {
  std::string response_id;
  int prompt_tokens = 0;
  int window = 0;  // number of tokens from the first generated to the last one
  std::string model;
  std::string package;  // hexadecimal id of the model package
  std::vector<AdapterUse> adapters;
  std::vector<inference::Commit> given;  // the given tokens between gaps
};

// The route that a router chose for a request.
struct RouteUse {
  std::string name;
  double probability = 0;  // probability that the answer is good enough; 0: unknown
  bool explored = false;   // chosen at random
};

struct GenerationFinished {
  std::string response_id;
  inference::FinishReason reason = inference::FinishReason::kLength;
  int prompt_tokens = 0;
  int cached_tokens = 0;  // of the prompt, whose keys and values were in the cache
  int completion_tokens = 0;
  int steps = 0;
  int forwards = 0;
  double seconds = 0;
  double queue_seconds = 0;
  std::vector<AdapterUse> adapters;
  inference::MemoryUse memory = {};
  std::optional<RouteUse> route = std::nullopt;  // nullopt: the router chose nothing
  std::vector<inference::Commit> tokens;         // if log-probabilities are asked for
  uint64_t seed = 0;                             // of its random choices
  inference::DecodingMode mode = inference::DecodingMode::kDiffusion;
  std::string sampler = {};  // empty in autoregressive mode
};

// Receives the events of one generation, in order: OnStarted, any number of OnStep, then exactly
// one OnEnd. A generation that never started gets OnEnd only. Called from the actor's threads,
// never concurrently; implementations must not block.
class GenerationListener {
 public:
  virtual ~GenerationListener() = default;
  virtual void OnStarted(const GenerationStarted& started) = 0;
  virtual void OnStep(const inference::StepResult& step) = 0;
  virtual void OnEnd(const absl::StatusOr<GenerationFinished>& result) = 0;
  // Returns true once the result is no longer wanted; polled between steps.
  virtual bool cancelled() const = 0;
};

// A piece of a text to infill: given text, or a gap of `gap` tokens to fill.
struct TextPart {
  std::string text = {};
  int gap = 0;
};

// Messages to answer, of which the last one is the user's; empty if the job is not a chat.
struct Conversation {
  std::vector<inference::ChatMessage> messages = {};
  std::optional<inference::ChatFormat> format =
      {};  // nullopt: the format of the model's chat template
};

struct GenerationJob {
  std::string prompt;
  // If not empty, a text with gaps; the prompt is then the text before the first gap.
  std::vector<TextPart> parts = {};
  // If not empty, replaces prompt and parts.
  Conversation conversation = {};
  inference::SamplingOptions options;  // without a constraint
  // What the completion is held to; null: it is free.
  std::shared_ptr<const inference::Grammar> grammar = nullptr;
  std::string caller = {};  // whose turn it is; requests of one caller share its turns
  std::string owner = {};   // as in storage::Trajectory
  bool draws_seed = false;  // the node draws the seed, and the one in `options` is ignored
  bool use_adapters = true;
  std::vector<AdapterChoice> adapters = {};  // empty: as configured
  std::string session_id;
  std::string user_id;  // empty: no user
  // Whether the session's memory changes the completion, and its own tokens are kept for feedback;
  // nullopt: as configured. Needs a session_id.
  std::optional<bool> session_memory = std::nullopt;
  std::optional<TimePoint> deadline;
  std::shared_ptr<GenerationListener> listener;
};

struct ScoreJob {
  std::string prompt;
  std::string completion;
  std::optional<inference::DecodingMode> mode;  // nullopt: DefaultDecodingMode
  inference::ScoreOptions options;              // the mode and the memory in it are ignored
  std::string caller = {};                      // as in GenerationJob
  std::string user_id = {};                     // whose lessons take part; "": everybody's only
  bool use_memory = true;                       // whether lessons take part
  bool use_adapters = true;
  std::vector<AdapterChoice> adapters = {};
  // Returns true once the answer is not wanted any more, because the caller left or the deadline
  // passed; asked between forwards. Empty: it is wanted to the end.
  std::function<bool()> unwanted = nullptr;
};

struct EmbedJob {
  std::string text;
  std::string caller = {};                   // as in GenerationJob
  std::function<bool()> unwanted = nullptr;  // as in ScoreJob
};

// Several texts that take one place of the queue together.
struct EmbedListJob {
  std::vector<std::string> texts;            // at least one
  std::string caller = {};                   // as in GenerationJob
  std::function<bool()> unwanted = nullptr;  // as in ScoreJob
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

// The answers of the texts of a list, in their order, up to the first one that failed.
struct EmbedListAnswer {
  std::vector<EmbedAnswer> texts;
  absl::Status status;  // of the text behind `texts`; OK if all are there
};

// The node's access to the model: admission, scheduling step by step, adapters and trajectories.
// All methods are thread-safe and return at once; callbacks run on the node's threads and must not
// block.
class InferenceActor {
 public:
  virtual ~InferenceActor() = default;
  // Returns RESOURCE_EXHAUSTED when the queue is full, or its caller has its share of the queue,
  // and UNAVAILABLE when the node drains; then the listener is not called.
  virtual absl::Status Generate(GenerationJob job) = 0;
  virtual absl::Status Score(ScoreJob job,
                             std::function<void(absl::StatusOr<ScoreAnswer>)> done) = 0;
  virtual absl::Status Embed(EmbedJob job,
                             std::function<void(absl::StatusOr<EmbedAnswer>)> done) = 0;
  // Embeds one text in a turn, so that a long list holds up no other caller.
  virtual absl::Status EmbedList(EmbedListJob job, std::function<void(EmbedListAnswer)> done) = 0;
  // Returns the number of generations, scores and embeddings that are admitted and have not ended.
  virtual uint64_t running() const = 0;
};

}  // namespace ruvd::serving
