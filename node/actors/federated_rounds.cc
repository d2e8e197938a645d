// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/federated_rounds.h"

#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "node/log/log.h"

namespace ruvd::actors {

FederatedRounds::FederatedRounds(const FederationActorOptions& options, Source source)
    : options_(options), source_(std::move(source)) {}

void FederatedRounds::Restore() {
  if (options_.model->saved_is_invalid()) {
    stale_ = true;
  } else {
    Serve(options_.model->adapter());
  }
}

void FederatedRounds::Run(Context& context) {
  if (running_) {
    again_ = true;
    return;
  }
  if (std::exchange(stale_, false)) {
    if (const absl::Status begun = options_.model->Forget(); !begun.ok()) {
      LogError("the global adapter could not be reset: {} [{}]", MessageOf(begun), ReasonOf(begun));
    }
  }
  std::vector<federation::Item> newest = source_.newest();
  std::erase_if(newest, [&](const federation::Item& item) {
    return pauses_.IsPaused(item.origin, options_.clock->Now());
  });
  pause_ends_ = pauses_.NextEnd(options_.clock->Now());
  sharing::MaskedMeanList sums = source_.sums();
  if (newest.empty() && sums.empty()) {
    return;
  }
  auto outcome =
      std::make_shared<absl::StatusOr<sharing::FederatedOutcome>>(absl::UnknownError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      // The work refers to nothing in this actor, because it outlives the actor after a forced
      // stop.
      [model = options_.model, services = options_.learning, throttle = options_.throttle,
       newest = std::move(newest), sums = std::move(sums), outcome]() mutable {
        *outcome = model->RunThrottledRound(throttle, std::move(services), std::move(newest),
                                            std::move(sums));
      },
      [this, outcome](Context& own) {
        running_ = false;
        End(*outcome, own);
        return absl::OkStatus();
      });
  running_ = started.ok();
  if (!started.ok()) {
    LogError("a round of updates did not start: {} [{}]", MessageOf(started), ReasonOf(started));
  }
}

void FederatedRounds::RunIfDue(Context& context) {
  const bool resumes = pause_ends_ && *pause_ends_ <= options_.clock->Now();
  if (!running_ && (resumes || (unfinished_ && context.Now() >= next_))) {
    Run(context);
  }
}

void FederatedRounds::End(absl::StatusOr<sharing::FederatedOutcome>& outcome, Context& context) {
  next_ = context.Now() + options_.round;
  unfinished_ = outcome.ok() ? outcome->unfinished : absl::IsCancelled(outcome.status());
  if (unfinished_ && !outcome.ok()) {
    return;  // the node stops, or a deep round needs the memory
  }
  if (!outcome.ok()) {
    LogError("the updates of the cluster could not be combined: {} [{}]",
             MessageOf(outcome.status()), ReasonOf(outcome.status()));
  }
  if (outcome.ok() && !stale_) {
    Serve(outcome->adapter);
    last_ = *std::move(outcome);
  }
  if (std::exchange(again_, false)) {
    Run(context);
  }
}

void FederatedRounds::OnUpdateWithdrawn(const federation::Item& update) {
  if (!running_ && !options_.model->MayContain(update.origin)) {
    return;
  }
  RestartFromBase(update.origin);
  if (update.origin != options_.key->id()) {
    pauses_.RecordWithdrawal(update.origin, options_.clock->Now());
  }
}

void FederatedRounds::RestartFromBase(const privacy::NodeId& without) {
  stale_ = true;
  options_.model->InvalidateSaved();
  Serve(nullptr);
  LogInfo("the global adapter is rebuilt without an update of {}", ToHex(without).substr(0, 16));
}

void FederatedRounds::Serve(const std::shared_ptr<const inference::Talora>& adapter) {
  options_.adapters->SetFederated(adapter);
  served_version_ = adapter == nullptr ? 0 : adapter->version;
}

}  // namespace ruvd::actors
