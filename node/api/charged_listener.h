// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "node/api/callers.h"
#include "node/serving/inference.h"

namespace ruvd::api {

// Passes the events of a generation on and charges its tokens to the caller's key: those of the
// prompt when it starts, and those that the model commits, step by step, so that a call which its
// caller ends early is paid for.
class ChargedListener final : public serving::GenerationListener {
 public:
  ChargedListener(std::shared_ptr<serving::GenerationListener> listener,
                  std::shared_ptr<const AdmittedCall> call)
      : listener_(std::move(listener)), call_(std::move(call)) {}

  void OnStarted(const serving::GenerationStarted& started) override {
    call_->Charge(static_cast<uint64_t>(started.prompt_tokens));
    listener_->OnStarted(started);
  }
  void OnStep(const inference::StepResult& step) override {
    call_->Charge(step.commits.size());
    listener_->OnStep(step);
  }
  void OnEnd(const absl::StatusOr<serving::GenerationFinished>& result) override {
    call_.reset();  // it runs no more, whatever its reader has yet to read
    listener_->OnEnd(result);
  }
  bool cancelled() const override { return listener_->cancelled(); }

 private:
  const std::shared_ptr<serving::GenerationListener> listener_;
  std::shared_ptr<const AdmittedCall> call_;
};

}  // namespace ruvd::api
