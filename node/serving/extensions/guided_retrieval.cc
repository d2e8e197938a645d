// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/guided_retrieval.h"

#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/adapter/bank.h"
#include "node/log/log.h"

namespace ruvd::serving {

class GuidedRetrieval::Guided final : public RequestExtension {
 public:
  explicit Guided(GuidedRetrieval& shared) : shared_(shared) {}

  bool WatchesSteps() const override { return true; }

  void BetweenSteps(ServedRequest& request, const inference::StepSignals& signals) override {
    const inference::StepUncertainty now = inference::UncertaintyOf(signals.positions, signals.t);
    inference::TimestepStatistics& statistics = shared_.entropy_baseline_[request.mode()];
    const float usual = statistics.ZScore(signals.t, now.entropy);
    statistics.Add(signals.t, now.entropy);
    const inference::DgrDecision decision =
        DecideRetrieval(shared_.options_, history_, now, signals.step, usual);
    // Without an embedding there was no pattern to be found when the request began.
    if (!decision.query || request.embedding().empty()) {
      return;
    }
    request.NoteRetrieval();
    history_ = {.retrievals = history_.retrievals + 1, .last_step = signals.step};
    const std::vector<float> query =
        AugmentedQuery(request.embedding(), signals.hidden, signals.positions, shared_.whitening_,
                       shared_.options_.uncertain_share);
    absl::StatusOr<ChosenAdapters> chosen =
        shared_.adapters_.Reselect(request.adapters(), query, inference::BankOf(signals.t),
                                   decision.kind, request.pattern_factor());
    if (!chosen.ok()) {
      LogWarning("response {} keeps its adapters: {}", request.response_id(),
                 MessageOf(chosen.status()));
      return;
    }
    request.SetAdapters(*std::move(chosen));
  }

 private:
  GuidedRetrieval& shared_;
  inference::DgrHistory history_;
};

std::unique_ptr<RequestExtension> GuidedRetrieval::Extend(const GenerationJob& job) {
  return job.use_adapters ? std::make_unique<Guided>(*this) : nullptr;
}

}  // namespace ruvd::serving
