// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/serving/compute_task.h"
#include "node/serving/generation_services.h"
#include "node/serving/request_extension.h"
#include "node/serving/served_request.h"

namespace ruvd::serving {

// One completion from admission to trajectory: the first slice chooses adapters, then it denoises
// round by round, and at the end it stores the trajectory and tells the caller. It calls the
// extensions of the request at their moments.
class GenerationTask final : public ComputeTask {
 public:
  GenerationTask(GenerationServices services, std::string response_id, GenerationJob job);

  bool NeedsPreparation() const override { return request_.NeedsFiles(); }
  void Prepare() override { request_.ReadFiles(); }
  bool RunSlice(inference::Transformer& transformer) override;
  void Fail(const absl::Status& status) override;
  bool EndIfCancelled() override;
  inference::Generation* generation() override {
    return steps_follow_ ? request_.generation_.get() : nullptr;
  }
  bool OnForwardRound(inference::ForwardRoundResult round) override;
  bool NeedsConclusion() const override { return end_.has_value(); }
  void Conclude() override;

 private:
  // Returns an error if the request is cancelled or past its deadline.
  absl::Status CheckNotCancelled() const;
  absl::Status Begin(inference::Transformer& transformer);
  absl::Status Advance(inference::ForwardRoundResult round);
  // Collects the factors of the extensions for the choice of adapters.
  void AskForFactors();
  // Ends the computing, with an error or else with the completion. Conclude does the rest.
  void End(const absl::Status& status);
  // Stores the trajectory, which later feedback refers to, and what the extensions leave.
  void Store(RequestEnd* end);

  const GenerationServices services_;
  ServedRequest request_;
  std::vector<std::unique_ptr<RequestExtension>> extensions_;
  bool steps_follow_ = false;                      // adapters are chosen
  std::optional<absl::StatusOr<RequestEnd>> end_;  // set from the end to the conclusion
};

}  // namespace ruvd::serving
