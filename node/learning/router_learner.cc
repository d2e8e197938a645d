// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/router_learner.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/learning/router_training.h"
#include "node/log/log.h"
#include "storage/limits.h"
#include "storage/reasons.h"

namespace ruvd::learning {
namespace {

// Returns a number above all versions that exist or are listed, undone ones included.
absl::StatusOr<uint32_t> NextVersion(const LearningServices& services,
                                     const serving::RouterFiles& files) {
  ASSIGN_OR_RETURN(const std::vector<uint32_t> versions, files.Versions());
  uint32_t last = versions.empty() ? 0 : versions.back();
  if (services.changes != nullptr) {
    ASSIGN_OR_RETURN(const std::vector<storage::LearningChange> changes,
                     services.changes->List(limits::kMaxChanges));
    for (const storage::LearningChange& change : changes) {
      last =
          std::max(last, change.kind == storage::ChangeKind::kRouterTrained ? change.version : 0);
    }
  }
  return last + 1;
}

absl::Status Unusable(std::string_view what, const absl::Status& why) {
  return Error(why.code(), ReasonOf(why),
               "the {} cannot be used ({}); restore the store from a backup", what, MessageOf(why));
}

absl::Status UnusableVersion(uint32_t version, const absl::Status& why) {
  return Unusable(fmt::format("version {} of the router", version), why);
}

}  // namespace

std::string_view RouterVerdictName(RouterVerdict verdict) {
  constexpr std::array<std::string_view, 4> kNames = {"published", "too_few_outcomes", "no_gain",
                                                      "taken_back"};
  return kNames.at(static_cast<size_t>(verdict));
}

void LogRouterRound(const absl::StatusOr<RouterRound>& round) {
  if (round.ok()) {
    LogInfo("router: {} after {} outcomes, gain {:.3f} (standard error {:.3f})",
            RouterVerdictName(round->verdict), round->outcomes, round->gain, round->standard_error);
  } else if (!absl::IsCancelled(round.status())) {
    LogError("the router is not trained: {} [{}]", MessageOf(round.status()),
             ReasonOf(round.status()));
  }
}

RouterLearner::RouterLearner(RouterLearnerOptions options)
    : router_(*options.router),
      value_(options.value),
      min_rating_(options.min_rating),
      files_(*options.state, {.value = options.value, .exploration = 0}) {
  status_.kind = inference::ScorerName(router_.options().kind);
}

absl::StatusOr<std::unique_ptr<RouterLearner>> RouterLearner::Open(
    RouterLearnerOptions options, const storage::TrajectoryStore& trajectories) {
  std::unique_ptr<RouterLearner> learner(new RouterLearner(std::move(options)));
  const MutexLock lock(learner->mutex_);
  RETURN_IF_ERROR(learner->ServeNewest());
  const absl::StatusOr<serving::RouterTrainingState> state = learner->files_.ReadState();
  if (!state.ok()) {
    return Unusable("training state of the router", state.status());
  }
  learner->state_ = *state;
  const inference::ScorerKind kind = learner->router_.options().kind;
  if (state->kind != kind) {  // the other kind was trained on other outcomes
    learner->state_ = {.kind = kind, .counted_from = state->counted_from};
  }
  RETURN_IF_ERROR(learner->FindWaiting(trajectories));
  return learner;
}

// A completion's row has the time of its creation, not of its rating. So the number of outcomes
// since the last training is estimated as the larger of two: the growth of the count, and those
// created since.
absl::Status RouterLearner::FindWaiting(const storage::TrajectoryStore& trajectories) {
  std::deque<std::string> newest;
  uint64_t count = 0;
  uint64_t created_since = 0;
  const int64_t trained_ms = state_.trained_ms;
  const auto look = [&](const storage::Trajectory& trajectory) {
    if (OutcomeOf(trajectory, min_rating_)) {
      ++count;
      created_since += trajectory.created_ms > trained_ms ? 1 : 0;
      newest.push_back(trajectory.response_id);
      if (newest.size() > kMaxRouterOutcomes) {
        newest.pop_front();
      }
    }
    return true;
  };
  RETURN_IF_ERROR(trajectories.ForEachSince(state_.counted_from, look));
  const uint64_t more = count - std::min(count, state_.outcomes);
  const auto waiting =
      static_cast<ptrdiff_t>(std::min<uint64_t>(newest.size(), std::max(more, created_since)));
  waiting_.insert(newest.end() - waiting, newest.end());
  return absl::OkStatus();
}

absl::Status RouterLearner::ServeNewest() {
  ASSIGN_OR_RETURN(const std::vector<uint32_t> versions, files_.Versions());
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    const absl::StatusOr<serving::StoredRouter> stored = files_.Read(*version);
    if (!stored.ok()) {
      return UnusableVersion(*version, stored.status());
    }
    if (stored->router->entries().front().scorer->shape().kind != router_.options().kind) {
      continue;  // from another configuration
    }
    if (const absl::Status served = router_.Serve(stored->router); !served.ok()) {
      return UnusableVersion(*version, served);
    }
    status_.version = *version;
    status_.outcomes = stored->outcomes;
    trained_ms_ = stored->trained_ms;
    serving_ = stored->router;
    return absl::OkStatus();
  }
  StopServing();
  return absl::OkStatus();
}

void RouterLearner::StopServing() {
  status_.version = 0;
  status_.outcomes = 0;
  trained_ms_ = 0;
  serving_ = nullptr;
  router_.Serve(nullptr).IgnoreError();  // Serve(nullptr) cannot fail
}

void RouterLearner::OnFeedback(const storage::Trajectory& trajectory) {
  if (OutcomeOf(trajectory, min_rating_).has_value()) {
    const MutexLock lock(mutex_);
    if (trajectory.created_ms >= state_.counted_from && waiting_.size() < kMaxRouterOutcomes) {
      waiting_.insert(trajectory.response_id);
    }
  }
}

bool RouterLearner::due() const {
  const MutexLock lock(mutex_);
  return waiting_.size() >= kNewOutcomes;
}

RouterLearner::TrainingStart RouterLearner::Begin() {
  const MutexLock lock(mutex_);
  return {.waiting = std::exchange(waiting_, {}),
          .serving = serving_,
          .serving_since_ms = trained_ms_,
          .counted_from = state_.counted_from,
          .generation = generation_};
}

absl::StatusOr<RouterRound> RouterLearner::Train(const LearningServices& services, Random& random) {
  TrainingStart begun = Begin();
  absl::StatusOr<RouterRound> round = TrainFrom(begun, services, random);
  const MutexLock lock(mutex_);
  if (round.ok()) {
    status_.last = *round;
  } else if (begun.generation == generation_) {
    waiting_.merge(begun.waiting);
  }
  return round;
}

absl::StatusOr<RouterRound> RouterLearner::TrainFrom(const TrainingStart& begun,
                                                     const LearningServices& services,
                                                     Random& random) {
  std::deque<RouterOutcome> newest;
  uint64_t count = 0;
  const auto look = [&](const storage::Trajectory& trajectory) {
    if (const auto outcome = OutcomeOf(trajectory, min_rating_)) {
      ++count;
      newest.push_back(*outcome);
      if (newest.size() > kMaxRouterOutcomes) {
        newest.pop_front();
      }
    }
    return true;
  };
  RETURN_IF_ERROR(services.trajectories->ForEachSince(begun.counted_from, look));
  const std::vector<RouterOutcome> outcomes(newest.begin(), newest.end());
  ASSIGN_OR_RETURN(
      const TrainedRouter trained,
      TrainRequestRouter(outcomes,
                         {.kind = router_.options().kind,
                          .value = value_,
                          .serving = begun.serving.get(),
                          .serving_since_ms = begun.serving_since_ms,
                          .between_pieces = [&services] { return YieldBetweenPieces(services); }},
                         random));
  RouterRound round{.verdict = trained.router == nullptr ? RouterVerdict::kTooFewOutcomes
                                                         : RouterVerdict::kNoGain,
                    .outcomes = static_cast<uint32_t>(outcomes.size()),
                    .gain = trained.gain.mean,
                    .standard_error = trained.gain.standard_error};
  const MutexLock lock(mutex_);
  if (begun.generation != generation_) {
    return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                 "a router was undone while the next one was trained on the same outcomes");
  }
  serving::RouterTrainingState state = state_;
  state.trained_ms = services.clock->WallMillis();
  state.outcomes = count;
  RETURN_IF_ERROR(files_.WriteState(state));
  state_ = state;
  if (trained.better(begun.serving != nullptr)) {
    RETURN_IF_ERROR(Publish(
        services,
        {.trained_ms = state.trained_ms, .outcomes = round.outcomes, .router = trained.router},
        &round));
  } else if (trained.serving.negative()) {
    round.gain = trained.serving.mean;
    round.standard_error = trained.serving.standard_error;
    RETURN_IF_ERROR(WithdrawVersions(services, &round));
  }
  return round;
}

absl::Status RouterLearner::WithdrawVersions(const LearningServices& services, RouterRound* round) {
  storage::LearningChange change{.loop = storage::LearningLoop::kBackground,
                                 .kind = storage::ChangeKind::kRouterTrained,
                                 .adapter_name = kRouterName,
                                 .version_before = status_.version,
                                 .version = 0,
                                 .lessons = round->outcomes};
  ASSIGN_OR_RETURN(change, ListChange(services, std::move(change), {}));
  if (const absl::Status removed = RemoveVersions(); !removed.ok()) {
    UnlistChange(services, change);
    return removed;
  }
  StopServing();
  round->verdict = RouterVerdict::kWithdrawn;
  round->change = std::move(change);
  return absl::OkStatus();
}

absl::Status RouterLearner::RemoveVersions() {
  ASSIGN_OR_RETURN(const std::vector<uint32_t> versions, files_.Versions());
  for (const uint32_t version : versions) {
    const absl::StatusOr<serving::StoredRouter> stored = files_.Read(version);
    if (!stored.ok()) {
      return UnusableVersion(version, stored.status());
    }
    if (stored->router->entries().front().scorer->shape().kind == router_.options().kind) {
      RETURN_IF_ERROR(files_.Remove(version));
    }
  }
  return absl::OkStatus();
}

absl::Status RouterLearner::Publish(const LearningServices& services,
                                    const serving::StoredRouter& stored, RouterRound* round) {
  ASSIGN_OR_RETURN(const uint32_t version, NextVersion(services, files_));
  storage::LearningChange change{.loop = storage::LearningLoop::kBackground,
                                 .kind = storage::ChangeKind::kRouterTrained,
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
  serving_ = stored.router;
  return absl::OkStatus();
}

absl::Status RouterLearner::Withdraw(const storage::LearningChange& change, int64_t now_ms) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const std::vector<uint32_t> versions, files_.Versions());
  if (!std::ranges::binary_search(versions, change.version)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kCannotUndo,
                 "change {} cannot be undone: version {} of the router is no longer kept",
                 TokenOf(change), change.version);
  }
  // The training state is written first: otherwise the version would be learned again after a
  // crash.
  serving::RouterTrainingState state = state_;
  state.counted_from = std::max(state.counted_from, now_ms + 1);
  state.outcomes = 0;
  RETURN_IF_ERROR(files_.WriteState(state));
  state_ = state;
  waiting_.clear();
  ++generation_;
  RETURN_IF_ERROR(files_.Remove(change.version));
  if (const absl::Status served = ServeNewest(); !served.ok()) {
    LogWarning("no router is used until the next training: {} [{}]", MessageOf(served),
               ReasonOf(served));
    StopServing();
  }
  return absl::OkStatus();
}

RouterStatus RouterLearner::status() const {
  const MutexLock lock(mutex_);
  RouterStatus status = status_;
  status.waiting = static_cast<uint32_t>(waiting_.size());
  return status;
}

}  // namespace ruvd::learning
