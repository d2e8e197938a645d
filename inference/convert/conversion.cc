// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/convert/conversion.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/convert/mask_token.h"
#include "inference/convert/merged_model.h"
#include "inference/limits.h"
#include "inference/model/config.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/limits.h"
#include "inference/train/network_pass.h"

namespace ruvd::inference {
namespace {

using train::ChangeSet;
using train::ModelWeights;
using train::NetworkShape;

// One part in this many of the text is held out if no held-out text is given.
constexpr size_t kHeldOutShare = 20;
// Rows of the embedding that are decoded together
constexpr size_t kRows = 1024;

template <typename... Args>
absl::Status Refused(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

absl::Status CheckBase(const ModelConfig& config) {
  const ArchitectureTraits& traits = TraitsOf(config.architecture);
  const auto unsupported = [](std::string_view what) {
    return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
                 "{}; give an autoregressive model of architecture qwen2", what);
  };
  if (traits.diffusion) {
    return unsupported(
        fmt::format("the base is a diffusion model already: its file says \"{}\"", traits.name));
  }
  if (config.architecture != Architecture::kQwen2) {
    return unsupported(fmt::format(
        "a model of architecture \"{}\" has no diffusion form that this build runs", traits.name));
  }
  if (!config.causal) {
    return unsupported(
        "the base's attention is not causal, so the base is not an autoregressive language model");
  }
  if (config.sliding_window > 0) {
    return unsupported(fmt::format(
        "the base's attention is limited to {} tokens, which block diffusion does not support",
        config.sliding_window));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const ConversionOptions& options, const ModelConfig& config) {
  if (options.length < 2 || options.length > config.context) {
    return Refused("crops of {} tokens do not fit: choose 2 to {}, the context of the base",
                   options.length, config.context);
  }
  if (options.block_length < 2 || options.block_length > options.length) {
    return Refused("blocks of {} tokens do not fit: choose 2 to {}, the length of a crop",
                   options.block_length, options.length);
  }
  if (options.batch < 1 || options.batch > limits::kMaxTrainingBatch || options.held_out < 1 ||
      options.held_out > limits::kMaxHeldOutSamples) {
    return Refused("choose a batch of 1 to {} crops, and 1 to {} held-out crops",
                   limits::kMaxTrainingBatch, limits::kMaxHeldOutSamples);
  }
  if (!(options.anneal >= 0) || !(options.anneal <= 1)) {
    return Refused("the share of the steps over which the block grows is {}; choose 0 to 1",
                   options.anneal);
  }
  return absl::OkStatus();
}

absl::Status CheckTexts(const ConversionTexts& texts, int length, TokenId mask) {
  const auto least = static_cast<size_t>(length);
  if (texts.train.size() < least || texts.held_out.size() < least) {
    return Refused(
        "the text is too short: {} tokens to learn and {} held out, where each needs a crop of {}; "
        "give more text or shorter crops",
        texts.train.size(), texts.held_out.size(), length);
  }
  for (const std::vector<TokenId>* stream : {&texts.train, &texts.held_out}) {
    if (std::ranges::find(*stream, mask) != stream->end()) {
      return Refused(
          "the text contains token {}, which was chosen as the mask; choose another token", mask);
    }
  }
  return absl::OkStatus();
}

// Holds out the last part of the text if there is no other held-out text.
void HoldOut(ConversionTexts* texts, int length) {
  if (!texts->held_out.empty()) {
    return;
  }
  const size_t least = static_cast<size_t>(length);
  const size_t count =
      std::min(texts->train.size(), std::max(texts->train.size() / kHeldOutShare, least));
  const auto begin = texts->train.end() - static_cast<ptrdiff_t>(count);
  texts->held_out.assign(begin, texts->train.end());
  texts->train.erase(begin, texts->train.end());
}

bool IsTied(const Model& model) {
  return model.output().data == model.token_embedding().data;
}

std::vector<float> MeanRow(ModelWeights& weights) {
  const NetworkShape& shape = weights.shape();
  std::vector<double> sum(shape.width);
  std::vector<TokenId> tokens;
  std::vector<float> rows;
  for (size_t begin = 0; begin < shape.vocabulary; begin += kRows) {
    tokens.resize(std::min(kRows, shape.vocabulary - begin));
    std::iota(tokens.begin(), tokens.end(), static_cast<TokenId>(begin));
    rows.resize(tokens.size() * shape.width);
    weights.Embed(tokens, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      sum[i % shape.width] += static_cast<double>(rows[i]);
    }
  }
  std::vector<float> mean(shape.width);
  for (size_t i = 0; i < mean.size(); ++i) {
    mean[i] = static_cast<float>(sum[i] / static_cast<double>(shape.vocabulary));
  }
  return mean;
}

}  // namespace

Conversion::Conversion(std::unique_ptr<GgufReader> file, std::shared_ptr<const Model> model,
                       std::unique_ptr<ModelWeights> weights, const ConversionOptions& options,
                       ParallelRunner& runner)
    : file_(std::move(file)),
      model_(std::move(model)),
      weights_(std::move(weights)),
      options_(options),
      runner_(runner),
      crops_{.rules = {},
             .length = options.length,
             .batch = options.batch,
             .block_length = options.block_length,
             .anneal = options.anneal,
             .steps = options.steps,
             .seed = options.seed},
      changes_(weights_->shape()) {}

absl::StatusOr<std::unique_ptr<Conversion>> Conversion::Create(
    const std::string& path,
    const std::function<absl::StatusOr<ConversionTexts>(const Tokenizer& tokenizer)>& read_texts,
    const ConversionOptions& options, ParallelRunner& runner) {
  ASSIGN_OR_RETURN(std::unique_ptr<GgufReader> file, GgufReader::Open(path));
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, Model::Load(path));
  RETURN_IF_ERROR(CheckBase(model->config()));
  RETURN_IF_ERROR(CheckOptions(options, model->config()));
  ASSIGN_OR_RETURN(std::unique_ptr<ModelWeights> weights,
                   ModelWeights::Create(model, nullptr, runner));
  ASSIGN_OR_RETURN(const Vocabulary vocabulary, ReadVocabulary(*file));
  ASSIGN_OR_RETURN(const TokenId mask, ChooseMaskToken(vocabulary, options.mask_token));
  std::unique_ptr<Conversion> conversion(
      new Conversion(std::move(file), std::move(model), std::move(weights), options, runner));
  conversion->crops_.rules = {.mask = mask, .shift = true};
  RETURN_IF_ERROR(conversion->AddChanges());
  ASSIGN_OR_RETURN(ConversionTexts texts, read_texts(conversion->model_->tokenizer()));
  RETURN_IF_ERROR(conversion->Begin(std::move(texts)));
  return conversion;
}

absl::Status Conversion::AddChanges() {
  const bool tied = IsTied(*model_);
  const std::vector<train::Site> sites = train::SitesFrom(model_->config(), 0, !tied);
  const NetworkShape& shape = weights_->shape();
  uint64_t parameters = shape.width;
  for (const train::Site& site : sites) {
    parameters += static_cast<uint64_t>(std::max(options_.rank, 0)) *
                  (shape.In(site.linear) + shape.Out(site.linear));
  }
  if (parameters > limits::kMaxTrainedParameters) {
    return Refused("rank {} trains {} numbers, more than {}; choose a lower one", options_.rank,
                   parameters, limits::kMaxTrainedParameters);
  }
  changes_.TrainRow(crops_.rules.mask, tied, MeanRow(*weights_));
  return train::AddLoras(*model_, sites, options_.rank, false, options_.seed, &changes_);
}

Digest Conversion::TaskOf(const ConversionTexts& texts) const {
  const ConversionOptions& o = options_;
  ByteWriter out;
  out.WriteText("conversion").WriteBytes(model_->hash()).Write(crops_.rules.mask);
  out.Write(o.block_length).Write(o.batch).Write(o.length).Write(o.anneal).Write(o.held_out);
  for (const std::vector<TokenId>* stream : {&texts.train, &texts.held_out}) {
    out.WriteBytes(Sha256(
        {reinterpret_cast<const uint8_t*>(stream->data()), stream->size() * sizeof(TokenId)}));
  }
  return Sha256(out.str());
}

absl::Status Conversion::Begin(ConversionTexts texts) {
  HoldOut(&texts, options_.length);
  RETURN_IF_ERROR(CheckTexts(texts, options_.length, crops_.rules.mask));
  train::RunOptions run;
  run.steps = options_.steps;
  run.learning_rate = options_.learning_rate;
  run.evaluate_every = options_.evaluate_every;
  run.seed = options_.seed;
  run.task = TaskOf(texts);
  run.pass.memory_bytes = options_.memory_bytes;
  RETURN_IF_ERROR(train::CheckRunOptions(run));
  held_out_ = HeldOutCrops(texts.held_out, options_.held_out, crops_);
  training_tokens_ = texts.train.size();
  objective_ = MakeCropObjective(std::move(texts.train), crops_);
  run_ = std::make_unique<train::TrainingRun>(train::RunParts{.weights = weights_.get(),
                                                              .changes = &changes_,
                                                              .objective = objective_.get(),
                                                              .held_out = held_out_,
                                                              .runner = &runner_},
                                              run);
  return absl::OkStatus();
}

absl::StatusOr<Conversion::Written> Conversion::Write(const std::string& path,
                                                      const std::string& type) {
  const MergedModelOptions options{
      .type = type, .mask = crops_.rules.mask, .block_length = options_.block_length};
  ASSIGN_OR_RETURN(const uint64_t bytes,
                   WriteMergedModel(*file_, model_->config(), changes_, options, path, runner_));
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> merged, Model::Load(path));
  ASSIGN_OR_RETURN(const auto weights, ModelWeights::Create(merged, nullptr, runner_));
  train::NetworkPass<float> pass(*weights, runner_, {.memory_bytes = options_.memory_bytes});
  return Written{.bytes = bytes, .nelbo = pass.Run(held_out_, {})};
}

}  // namespace ruvd::inference
