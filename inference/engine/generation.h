// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/model/transformer.h"

namespace ruvd {

enum class DecodingMode : uint8_t { kDiffusion, kBlock, kAutoregressive };

// What a caller may ask of a completion; fields as in ruvd.inference.v1.SamplingOptions.
struct SamplingOptions {
  std::optional<DecodingMode>
      mode;  // nullopt: block if the model was trained so, else by architecture
  int max_tokens = 64;
  int steps = 0;         // 0: one token a step
  int block_length = 0;  // 0: the model's own
  float temperature = 0;
  float confidence_threshold = 0;  // 0: off
  uint64_t seed = 0;
  bool ignore_end_of_text = false;
  std::vector<std::string> stop;
  int top_k = 0;
  float top_p = 0;
  float repetition_penalty = 0;  // 0 or 1: off
};

struct Commit {
  int position = 0;  // from the first generated token
  TokenId token = 0;
  float confidence = 0;
};

// What one step did.
struct StepResult {
  int step = 0;
  float t = 0;  // masked share of the active window before the step
  float mean_entropy = 0;
  int masked = 0;               // still masked after the step, in the whole window
  std::vector<Commit> commits;  // in order of position
  std::string text;             // completion text that became final with this step
  bool done = false;
};

enum class FinishReason : uint8_t { kLength, kEndOfText, kStop };

// One completion, advanced a step at a time so that the caller can cancel, re-schedule and stream
// between steps. Uses the transformer only inside Create and Step; not thread-safe.
class Generation {
 public:
  // Chooses the adapters of the next step from t; called before every forward. Null: the base model
  // always.
  using AdapterPolicy = std::function<AdapterMix(float t)>;

  // Checks the options against the model. Errors: CONTEXT_TOO_LONG (how many tokens are too many),
  // MODE_UNSUPPORTED, INVALID_ARGUMENT (which option, which range).
  static absl::StatusOr<std::unique_ptr<Generation>> Create(const Model& model,
                                                            std::vector<TokenId> prompt,
                                                            const SamplingOptions& options,
                                                            AdapterPolicy adapters);
  virtual ~Generation() = default;

  // Runs one denoising step or decodes one token. Must not be called once done.
  virtual absl::StatusOr<StepResult> Step(Transformer& transformer) = 0;

  virtual bool done() const = 0;
  virtual FinishReason finish_reason() const = 0;
  // Prompt and window, masks where nothing is committed yet.
  virtual const std::vector<TokenId>& tokens() const = 0;
  virtual int prompt_length() const = 0;
  virtual int steps() const = 0;
  virtual int forwards() const = 0;
  // The final text; complete once done.
  virtual const std::string& text() const = 0;
};

}  // namespace ruvd
