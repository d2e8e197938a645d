// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/router_learner.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/actors/router_training.h"
#include "storage/limits.h"
#include "storage/reasons.h"

namespace ruvd {
namespace {

// Above all that are there or are listed, also those that were undone.
absl::StatusOr<uint32_t> NextVersion(const LearningServices& services, const RouterFiles& files) {
  const std::vector<uint32_t> versions = files.Versions();
  uint32_t last = versions.empty() ? 0 : versions.back();
  if (services.changes != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<LearningChange> changes,
                     services.changes->List(limits::kMaxChanges));
    for (const LearningChange& change : changes) {
      last = std::max(last, change.kind == ChangeKind::kRouterTrained ? change.version : 0);
    }
  }
  return last + 1;
}

absl::Status Unusable(const std::string& path, const absl::Status& why) {
  return Error(why.code(), ReasonOf(why),
               "{} cannot be used ({}); remove it and start again, and another router is learned",
               path, MessageOf(why));
}

}  // namespace

std::string_view RouterVerdictName(RouterVerdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"published", "too_few_outcomes", "no_gain"};
  return kNames.at(static_cast<size_t>(verdict));
}

void LogRouterRound(const absl::StatusOr<RouterRound>& round) {
  if (round.ok()) {
    spdlog::info("router: {} after {} outcomes, gain {:.3f} (standard error {:.3f})",
                 RouterVerdictName(round->verdict), round->outcomes, round->gain,
                 round->standard_error);
  } else if (!absl::IsCancelled(round.status())) {
    spdlog::error("the router is not trained: {} [{}]", MessageOf(round.status()),
                  ReasonOf(round.status()));
  }
}

RouterLearner::RouterLearner(RouterLearnerOptions options)
    : router_(*options.router),
      value_(options.value),
      min_rating_(options.min_rating),
      files_(std::move(options.folder), std::move(options.key),
             {.value = options.value, .exploration = 0}) {
  status_.kind = ScorerName(router_.options().kind);
}

absl::StatusOr<std::unique_ptr<RouterLearner>> RouterLearner::Open(
    RouterLearnerOptions options, const TrajectoryStore& trajectories) {
  std::unique_ptr<RouterLearner> learner(new RouterLearner(std::move(options)));
  const MutexLock lock(learner->mutex_);
  RETURN_IF_ERROR(learner->ServeNewest());
  uint32_t waiting = 0;
  RETURN_IF_ERROR(
      trajectories.ForEachSince(learner->trained_ms_, [&](const Trajectory& trajectory) {
        waiting += OutcomeOf(trajectory, learner->min_rating_).has_value() ? 1 : 0;
        return true;
      }));
  learner->status_.waiting = waiting;
  return learner;
}

absl::Status RouterLearner::ServeNewest() {
  std::vector<uint32_t> versions = files_.Versions();
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    const absl::StatusOr<StoredRouter> stored = files_.Read(*version);
    if (!stored.ok()) {
      return Unusable(files_.PathOf(*version), stored.status());
    }
    if (stored->router->entries().front().scorer->shape().kind != router_.options().kind) {
      continue;  // of another configuration
    }
    if (const absl::Status served = router_.Serve(stored->router); !served.ok()) {
      return Unusable(files_.PathOf(*version), served);
    }
    status_.version = *version;
    status_.outcomes = stored->outcomes;
    trained_ms_ = stored->trained_ms;
    return absl::OkStatus();
  }
  status_.version = 0;
  status_.outcomes = 0;
  trained_ms_ = 0;
  return router_.Serve(nullptr);
}

void RouterLearner::OnFeedback(const Trajectory& trajectory) {
  if (OutcomeOf(trajectory, min_rating_).has_value()) {
    const MutexLock lock(mutex_);
    ++status_.waiting;
  }
}

bool RouterLearner::due() const {
  const MutexLock lock(mutex_);
  return status_.waiting >= kNewOutcomes;
}

absl::StatusOr<RouterRound> RouterLearner::Train(const LearningServices& services, Random& random) {
  std::deque<RouterOutcome> newest;
  RETURN_IF_ERROR(services.trajectories->ForEachSince(0, [&](const Trajectory& trajectory) {
    if (const auto outcome = OutcomeOf(trajectory, min_rating_)) {
      newest.push_back(*outcome);
      if (newest.size() > kMostRouterOutcomes) {
        newest.pop_front();
      }
    }
    return true;
  }));
  const std::vector<RouterOutcome> outcomes(newest.begin(), newest.end());
  uint32_t taken = 0;
  {
    const MutexLock lock(mutex_);
    taken = status_.waiting;
  }
  ASSIGN_OR_RETURN(
      const TrainedRouter trained,
      TrainRequestRouter(outcomes,
                         {.kind = router_.options().kind,
                          .value = value_,
                          .between_pieces = [&services] { return YieldBetweenPieces(services); }},
                         random));
  RouterRound round{.verdict = trained.router == nullptr ? RouterVerdict::kTooFewOutcomes
                                                         : RouterVerdict::kNoGain,
                    .outcomes = static_cast<uint32_t>(outcomes.size()),
                    .gain = trained.gain,
                    .standard_error = trained.standard_error};
  const MutexLock lock(mutex_);
  if (trained.better()) {
    RETURN_IF_ERROR(Publish(services,
                            {.trained_ms = services.clock->WallMillis(),
                             .outcomes = round.outcomes,
                             .router = trained.router},
                            &round));
  }
  status_.waiting -= std::min(taken, status_.waiting);
  status_.last = round;
  return round;
}

absl::Status RouterLearner::Publish(const LearningServices& services, StoredRouter stored,
                                    RouterRound* round) {
  ASSIGN_OR_RETURN(const uint32_t version, NextVersion(services, files_));
  LearningChange change{.loop = LearningLoop::kBackground,
                        .kind = ChangeKind::kRouterTrained,
                        .adapter_name = kRouterName,
                        .version_before = status_.version,
                        .version = version,
                        .lessons = stored.outcomes};
  ASSIGN_OR_RETURN(change, ListChange(services, std::move(change), {}));
  absl::Status published = files_.Write(version, stored);
  if (published.ok()) {
    published = router_.Serve(stored.router);
  }
  if (!published.ok()) {
    UnlistChange(services, change);
    return published;
  }
  round->verdict = RouterVerdict::kPublished;
  round->change = std::move(change);
  status_.version = version;
  status_.outcomes = stored.outcomes;
  trained_ms_ = stored.trained_ms;
  return absl::OkStatus();
}

absl::Status RouterLearner::Withdraw(const LearningChange& change) {
  const MutexLock lock(mutex_);
  const absl::Status removed = files_.Remove(change.version);
  if (absl::IsNotFound(removed)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kCannotUndo,
                 "change {} cannot be undone: version {} of the router is not kept any more",
                 TokenOf(change), change.version);
  }
  RETURN_IF_ERROR(removed);
  return ServeNewest();
}

RouterStatus RouterLearner::status() const {
  const MutexLock lock(mutex_);
  return status_;
}

}  // namespace ruvd
