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
  int rank = 32;  // of the LoRA of every linear layer, the output matrix included where it is not
                  // the embedding
  int block_length = 16;
  int steps = 1000;
  int batch = 8;     // crops of a step
  int length = 512;  // tokens of a crop; at most the model's context
  double learning_rate = 4e-3;
  double anneal = 0;       // see CropOptions
  int held_out = 64;       // crops that the NELBO is measured on, at most
  int evaluate_every = 0;  // steps; 0: before the first and after the last only
  std::string mask_token;  // see ChooseMaskToken
  uint64_t seed = 1;
  uint64_t memory_bytes = uint64_t{512} << 20;  // of activations
};

// Streams of tokens, as EncodeDocuments gives them.
struct ConversionTexts {
  std::vector<TokenId> train;
  std::vector<TokenId> held_out;  // empty: the last twentieth of `train`, which is not learnt then
};

// Turns an autoregressive model into a block-diffusion one without touching its weights: LoRAs of
// all linear layers under the [x_t ; x_0] attention of block diffusion (BD3-LM, arXiv 2503.09573),
// and an embedding of its own for the MASK token. The logits' shift stays, so that the pretrained
// head fits from the first step on (DiffuLLaMA, arXiv 2410.17891). The base stays as quantised as
// its file is (QLoRA, arXiv 2305.14314). Deterministic. Not thread-safe.
class Conversion {
 public:
  // Loads the base at `path`. Borrows `runner`. Errors: those of Model::Load; MODEL_UNSUPPORTED for
  // a model that is not a causal qwen2; INVALID_ARGUMENT for an option out of its range, too little
  // text, no token for MASK, or a text that has it.
  static absl::StatusOr<std::unique_ptr<Conversion>> Create(
      const std::string& path,
      const std::function<absl::StatusOr<ConversionTexts>(const Tokenizer& tokenizer)>& read_texts,
      const ConversionOptions& options, ParallelRunner& runner);

  // Works until `pause`, asked every few milliseconds to seconds, says so or the run is done.
  // INTERNAL where the loss is no longer finite.
  absl::Status Advance(const std::function<bool()>& pause) { return run_->Advance(pause); }
  bool done() const { return run_->done(); }
  uint64_t step() const { return run_->step(); }
  // Of the last step, in nats per token, with the weights clamped: not a NELBO.
  double loss() const { return run_->loss(); }
  // Block-diffusion NELBO of the held-out crops in nats per token, one for each evaluation. The
  // first is the base's as it is but for the MASK row, which begins at the mean of all rows.
  const std::vector<double>& held_out() const { return run_->held_out(); }
  int block_length() const { return BlockLengthAt(crops_, run_->step()); }
  TokenId mask() const { return crops_.rules.mask; }
  uint64_t parameters() const { return changes_.parameters().size(); }
  uint64_t training_tokens() const { return training_tokens_; }  // of the text, not of the steps
  uint64_t held_out_crops() const { return held_out_.size(); }
  uint64_t bytes() const { return run_->bytes(); }

  // See TrainingRun.
  std::string Checkpoint() const { return run_->Checkpoint(); }
  absl::Status Restore(std::span<const uint8_t> bytes) { return run_->Restore(bytes); }

  // Writes the model with what was learnt merged into it (WriteMergedModel) and measures the file
  // on the held-out crops: beyond the last of held_out() is what its rounding costs.
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
