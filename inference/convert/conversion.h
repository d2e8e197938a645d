// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/parallel.h"
#include "inference/convert/text_crops.h"
#include "inference/gguf/reader.h"
#include "inference/model/model.h"
#include "inference/train/change.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"

namespace ruvd::inference {

struct ConversionOptions {
  // rank of the LoRA of every linear layer; the output matrix has one unless it is the embedding
  int rank = 32;
  int block_length = 16;
  int steps = 1000;
  int batch = 8;     // crops per step
  int length = 512;  // tokens of a crop; at most the model's context
  double learning_rate = 4e-3;
  double anneal = 0;       // see CropOptions
  int held_out = 64;       // most crops that the NELBO is measured on
  int evaluate_every = 0;  // steps; 0: only before the first and after the last step
  std::string mask_token;  // see ChooseMaskToken
  uint64_t seed = 1;
  uint64_t memory_bytes = uint64_t{512} << 20;  // memory for activations
};

// Streams of tokens, as EncodeDocuments gives them.
struct ConversionTexts {
  std::vector<TokenId> train;
  // empty: the last twentieth of `train`, which is then not trained on
  std::vector<TokenId> held_out;
};

// Turns an autoregressive model into a block-diffusion one without changing its weights. It trains
// LoRAs of all linear layers under the [x_t ; x_0] attention of block diffusion (BD3-LM, arXiv
// 2503.09573), and an embedding row for the MASK token. The logits stay shifted, so that the
// pretrained head fits from the first step on (DiffuLLaMA, arXiv 2410.17891). The base stays
// quantised as in its file (QLoRA, arXiv 2305.14314). The result is deterministic. Not thread-safe.
class Conversion {
 public:
  // Loads the base at `path`. Borrows `runner`. Errors: those of Model::Load; MODEL_UNSUPPORTED for
  // a model that is not a causal qwen2; INVALID_ARGUMENT for an option out of range, too little
  // text, no usable MASK token, or a text that contains it.
  static absl::StatusOr<std::unique_ptr<Conversion>> Create(
      const std::string& path,
      const std::function<absl::StatusOr<ConversionTexts>(const Tokenizer& tokenizer)>& read_texts,
      const ConversionOptions& options, ParallelRunner& runner);

  // Works until `pause` returns true or the run is done; `pause` is asked every few milliseconds to
  // seconds. INTERNAL if the loss is no longer finite.
  absl::Status Advance(const std::function<bool()>& pause) { return run_->Advance(pause); }
  bool done() const { return run_->done(); }
  uint64_t step() const { return run_->step(); }
  // Returns the loss of the last step in nats per token with clamped weights, which is not a NELBO.
  double loss() const { return run_->loss(); }
  // Returns the block-diffusion NELBO of the held-out crops in nats per token, one for each
  // evaluation. The first is that of the unchanged base, except for the MASK row, which begins at
  // the mean of all rows.
  const std::vector<double>& held_out() const { return run_->held_out(); }
  int block_length() const { return BlockLengthAt(crops_, run_->step()); }
  TokenId mask() const { return crops_.rules.mask; }
  uint64_t parameters() const { return changes_.parameters().size(); }
  // tokens of the training text, not of all steps
  uint64_t training_tokens() const { return training_tokens_; }
  uint64_t held_out_crops() const { return held_out_.size(); }
  uint64_t bytes() const { return run_->bytes(); }

  // See TrainingRun for both.
  std::string Checkpoint() const { return run_->Checkpoint(); }
  absl::Status Restore(std::span<const uint8_t> bytes) { return run_->Restore(bytes); }

  // Writes the model with the training result merged into it (WriteMergedModel) and measures the
  // file on the held-out crops. The difference from the last value of held_out() is the cost of
  // rounding.
  struct Written {
    uint64_t bytes = 0;
    double nelbo = 0;
  };
  absl::StatusOr<Written> Write(const std::string& path, const std::string& type);

 private:
  Conversion(std::unique_ptr<GgufReader> file, std::shared_ptr<const Model> model,
             std::unique_ptr<train::ModelWeights> weights, const ConversionOptions& options,
             ParallelRunner& runner);
  absl::Status AddChanges();
  absl::Status Begin(ConversionTexts texts);
  Digest TaskOf(const ConversionTexts& texts) const;

  std::unique_ptr<GgufReader> file_;
  std::shared_ptr<const Model> model_;
  std::unique_ptr<train::ModelWeights> weights_;
  ConversionOptions options_;
  ParallelRunner& runner_;
  CropOptions crops_;
  train::ChangeSet<float> changes_;
  std::unique_ptr<train::Objective> objective_;
  std::vector<train::TrainingSequence> held_out_;
  std::unique_ptr<train::TrainingRun> run_;
  uint64_t training_tokens_ = 0;
};

}  // namespace ruvd::inference
