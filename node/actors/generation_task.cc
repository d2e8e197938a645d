// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/generation_task.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {
namespace {

double Seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace

std::vector<TokenId> PromptTokens(const Model& model, std::string_view prompt) {
  std::vector<TokenId> tokens = model.tokenizer().Encode(prompt);
  if (tokens.empty() && model.tokenizer().eos_id().has_value()) {
    tokens.push_back(*model.tokenizer().eos_id());
  }
  return tokens;
}

GenerationTask::GenerationTask(GenerationServices services, std::string response_id,
                               GenerationJob job)
    : services_(services),
      response_id_(std::move(response_id)),
      job_(std::move(job)),
      admitted_(services_.clock->Now()) {}

bool GenerationTask::RunSlice(Transformer& transformer) {
  absl::Status status = CheckWanted();
  if (status.ok()) {
    status = generation_ == nullptr ? Begin(transformer) : Advance(transformer);
  }
  if (status.ok() && !generation_->done()) {
    return false;
  }
  if (status.ok()) {
    status = Finish();
  }
  if (!status.ok()) {
    Fail(status);
  }
  return true;
}

void GenerationTask::Fail(const absl::Status& status) {
  job_.listener->OnEnd(status);
}

absl::Status GenerationTask::CheckWanted() const {
  if (job_.listener->cancelled()) {
    return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                 "the caller cancelled the generation");
  }
  if (job_.deadline.has_value() && services_.clock->Now() >= *job_.deadline) {
    return Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                 "the deadline passed after {} steps; allow more time or ask for fewer tokens",
                 generation_ == nullptr ? 0 : generation_->steps());
  }
  return absl::OkStatus();
}

absl::Status GenerationTask::Begin(Transformer& transformer) {
  begun_ = services_.clock->Now();
  const Model& model = transformer.model();
  std::vector<TokenId> prompt = PromptTokens(model, job_.prompt);
  prompt_tokens_ = static_cast<int>(prompt.size());
  // Checks the length before the embedding spends a forward pass on it.
  ASSIGN_OR_RETURN(generation_, Generation::Create(model, prompt, job_.options,
                                                   [this](float) { return selection_.mix; }));
  ASSIGN_OR_RETURN(embedding_, EmbedTokens(transformer, prompt));
  if (job_.use_adapters) {
    ASSIGN_OR_RETURN(selection_, services_.adapters->Choose(embedding_));
  }
  job_.listener->OnStarted(
      {.response_id = response_id_,
       .prompt_tokens = prompt_tokens_,
       .window = static_cast<int>(generation_->tokens().size()) - prompt_tokens_,
       .adapters = selection_.uses});
  return absl::OkStatus();
}

absl::Status GenerationTask::Advance(Transformer& transformer) {
  ASSIGN_OR_RETURN(const StepResult step, generation_->Step(transformer));
  step_t_.push_back(step.t);
  step_entropy_.push_back(step.mean_entropy);
  job_.listener->OnStep(step);
  return absl::OkStatus();
}

absl::Status GenerationTask::Finish() {
  // Stored before the caller hears of the end, so that feedback finds it, even after a crash. A
  // full disk costs the feedback, not the completion.
  if (absl::Status stored = services_.trajectories->Put(MakeTrajectory()); !stored.ok()) {
    spdlog::warn("response {} cannot be learned from: {} [{}]", response_id_, MessageOf(stored),
                 ReasonOf(stored));
  }
  GenerationFinished finished;
  finished.response_id = response_id_;
  finished.reason = generation_->finish_reason();
  finished.completion_tokens = static_cast<int>(generation_->tokens().size()) - prompt_tokens_;
  finished.steps = generation_->steps();
  finished.forwards = generation_->forwards();
  finished.seconds = Seconds(services_.clock->Now() - begun_);
  finished.queue_seconds = Seconds(begun_ - admitted_);
  finished.adapters = selection_.uses;
  job_.listener->OnEnd(finished);
  return absl::OkStatus();
}

Trajectory GenerationTask::MakeTrajectory() const {
  Trajectory trajectory;
  trajectory.response_id = response_id_;
  trajectory.session_id = job_.session_id;
  trajectory.prompt = job_.prompt;
  trajectory.completion = generation_->text();
  trajectory.embedding = embedding_;
  trajectory.step_t = step_t_;
  trajectory.step_entropy = step_entropy_;
  for (const AdapterUse& use : selection_.uses) {
    trajectory.adapters.push_back(fmt::format("{}@{}", use.name, use.version));
  }
  trajectory.created_ms = services_.clock->WallMillis();
  return trajectory;
}

bool ScoreTask::RunSlice(Transformer& transformer) {
  done_(Run(transformer));
  return true;
}

absl::StatusOr<ScoreAnswer> ScoreTask::Run(Transformer& transformer) {
  const Model& model = transformer.model();
  const std::vector<TokenId> prompt = PromptTokens(model, job_.prompt);
  const std::vector<TokenId> completion = model.tokenizer().Encode(job_.completion);
  ScoreAnswer answer;
  answer.tokens = static_cast<int>(completion.size());
  ChosenAdapters selection;
  if (job_.use_adapters) {
    ASSIGN_OR_RETURN(const std::vector<float> embedding, EmbedTokens(transformer, prompt));
    ASSIGN_OR_RETURN(selection, adapters_.Choose(embedding));
  }
  ScoreOptions options = job_.options;
  if (model.config().block_length > 0) {
    options.block_length = model.config().block_length;
  }
  ASSIGN_OR_RETURN(answer.nats_per_token,
                   ScoreCompletion(transformer, prompt, completion, &selection.mix, options));
  answer.adapters = std::move(selection.uses);
  return answer;
}

bool EmbedTask::RunSlice(Transformer& transformer) {
  const std::vector<TokenId> tokens = PromptTokens(transformer.model(), text_);
  absl::StatusOr<std::vector<float>> embedding = EmbedTokens(transformer, tokens);
  if (!embedding.ok()) {
    done_(embedding.status());
    return true;
  }
  done_(EmbedAnswer{.embedding = *std::move(embedding), .tokens = static_cast<int>(tokens.size())});
  return true;
}

}  // namespace ruvd
