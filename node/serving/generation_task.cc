// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/generation_task.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/log/log.h"

namespace ruvd::serving {

GenerationTask::GenerationTask(GenerationServices services, std::string response_id,
                               GenerationJob job)
    : services_(std::move(services)), request_(services_, std::move(response_id), std::move(job)) {
  for (RequestExtensionFactory* const factory : services_.extensions) {
    if (std::unique_ptr<RequestExtension> extension = factory->Extend(request_.job())) {
      extensions_.push_back(std::move(extension));
    }
  }
}

bool GenerationTask::RunSlice(inference::Transformer& transformer) {
  const absl::Status status = Begin(transformer);
  if (!status.ok()) {
    End(status);
  }
  return !status.ok();
}

bool GenerationTask::EndIfCancelled() {
  const absl::Status status = CheckNotCancelled();
  if (!status.ok()) {
    End(status);
  }
  return !status.ok();
}

bool GenerationTask::OnForwardRound(inference::ForwardRoundResult round) {
  const absl::Status status = Advance(std::move(round));
  if (status.ok() && !request_.generation().done()) {
    return false;
  }
  End(status);
  return true;
}

void GenerationTask::Fail(const absl::Status& status) {
  End(status);
  Conclude();
}

absl::Status GenerationTask::CheckNotCancelled() const {
  const GenerationJob& job = request_.job();
  if (job.listener->cancelled()) {
    return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                 "the caller cancelled the generation");
  }
  if (job.deadline.has_value() && services_.clock->Now() >= *job.deadline) {
    return Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                 "the deadline passed after {} steps; allow more time or ask for fewer tokens",
                 request_.generation_ == nullptr ? 0 : request_.generation().steps());
  }
  return absl::OkStatus();
}

void GenerationTask::AskForFactors() {
  std::vector<AdapterSource::PatternFactor> factors;
  for (const auto& extension : extensions_) {
    if (AdapterSource::PatternFactor factor = extension->BeforeChoice(request_)) {
      factors.push_back(std::move(factor));
    }
  }
  if (factors.empty()) {
    return;
  }
  request_.factor_ = [factors = std::move(factors)](const std::string& pattern_id) {
    float product = 1;
    for (const AdapterSource::PatternFactor& factor : factors) {
      product *= factor(pattern_id);
    }
    return product;
  };
}

absl::Status GenerationTask::Begin(inference::Transformer& transformer) {
  const inference::Model& model = transformer.model();
  request_.Begin(model);
  // Create checks the length before a forward pass is spent on the prompt.
  ASSIGN_OR_RETURN(const std::vector<inference::TokenId> given, request_.Create(model));
  bool wants_embedding = false;
  for (const auto& extension : extensions_) {
    wants_embedding = wants_embedding || extension->WantsEmbedding();
    request_.watched_ = request_.watched_ || extension->WatchesSteps();
  }
  AskForFactors();
  RETURN_IF_ERROR(request_.ChooseAdapters(transformer, given, wants_embedding));
  for (const auto& extension : extensions_) {
    extension->BeforeFirstForward(request_, transformer);
  }
  request_.Start([this](const inference::StepSignals& signals) {
    for (const auto& extension : extensions_) {
      if (extension->WatchesSteps()) {
        extension->BetweenSteps(request_, signals);
      }
    }
  });
  request_.job().listener->OnStarted(request_.Started(model, given.size()));
  steps_follow_ = true;
  return absl::OkStatus();
}

absl::Status GenerationTask::Advance(inference::ForwardRoundResult round) {
  ASSIGN_OR_RETURN(std::optional<inference::StepResult> step, std::move(round));
  if (step.has_value()) {
    step->retrieved = request_.TakeRetrieval();
    request_.RecordStep(*step);
    for (const auto& extension : extensions_) {
      extension->AfterStep(request_, *step);
    }
    request_.job().listener->OnStep(*step);
  }
  return absl::OkStatus();
}

void GenerationTask::End(const absl::Status& status) {
  if (status.ok()) {
    RequestEnd end = request_.End();
    for (const auto& extension : extensions_) {
      extension->AfterEnd(request_, &end);
    }
    request_.trace().Finish(end.finished.completion_tokens, end.finished.memory);
    end_ = std::move(end);
  } else {
    request_.trace().Fail(status);
    end_ = status;
  }
  steps_follow_ = false;
  // Others need this memory while the request is being stored.
  request_.generation_.reset();
  request_.adapters_ = ChosenAdapters();
}

void GenerationTask::Conclude() {
  absl::StatusOr<RequestEnd> end = *std::exchange(end_, std::nullopt);
  const auto leave = [&] {
    if (end.ok()) {
      Store(&*end);
    }
    request_.trace().Record();
  };
  // What the user of an erased request said must not be stored; what the request cost still counts.
  if (!services_.fence->RunUnlessErased(request_.job().user_id, request_.admitted(), leave)) {
    request_.trace().ForgetUser();
    request_.trace().Record();
  }
  if (end.ok()) {
    request_.job().listener->OnEnd(end->finished);
  } else {
    request_.job().listener->OnEnd(end.status());
  }
}

void GenerationTask::Store(RequestEnd* end) {
  // The trajectory is stored before the caller hears of the end, so that feedback finds it even
  // after a crash. A full disk costs the feedback, not the completion.
  const absl::Status stored = services_.trajectories->Put(std::move(end->trajectory));
  if (!stored.ok()) {
    LogWarning("response {} cannot be learned from: {} [{}]", request_.response_id(),
               MessageOf(stored), ReasonOf(stored));
  } else {
    services_.on_stored(request_.job().user_id, request_.response_id());
  }
  for (const std::function<void()>& leave : end->leave) {
    leave();
  }
}

}  // namespace ruvd::serving
