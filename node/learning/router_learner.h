// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/random.h"
#include "node/learning/learning_services.h"
#include "node/serving/request_router.h"
#include "node/serving/router_files.h"
#include "storage/changes/learning_change.h"

namespace ruvd::learning {

enum class RouterVerdict : uint8_t {
  kPublished,
  kTooFewOutcomes,  // of all ways but one
  kNoGain,          // not surely worth more than what serves by now
  kTakenBack,       // the router that served is surely worth less than serving as asked
};
std::string_view RouterVerdictName(RouterVerdict verdict);  // "published", "too_few_outcomes", ...

// What a training of the router did.
struct RouterRound {
  RouterVerdict verdict = RouterVerdict::kTooFewOutcomes;
  uint32_t outcomes = 0;
  double gain = 0;  // as in TrainedRouter
  double standard_error = 0;
  // Of what was published or taken back; version 0: from then on nothing chooses.
  std::optional<storage::LearningChange> change;
};

// Says it in the node's log; a training that was given up is not worth a line.
void LogRouterRound(const absl::StatusOr<RouterRound>& round);

// What the router of a node does.
struct RouterStatus {
  std::string kind;       // of its scorers; empty: the router is off
  uint32_t version = 0;   // that chooses; 0: requests are served as they ask for
  uint32_t outcomes = 0;  // that it was trained on
  uint32_t waiting = 0;   // completions that got an outcome since the last training
  std::optional<RouterRound> last = std::nullopt;  // since the start
};

// The name under which versions of the router are listed as changes.
inline constexpr char kRouterName[] = "router";

struct RouterLearnerOptions {
  serving::RequestRouter* router = nullptr;  // borrowed
  std::string folder;                        // of the versions
  privacy::SealKey key;
  double value = 10;  // as in RouteTraining
  float min_rating = 0.7F;
};

// Learns which way of serving is worth most for which request, from completions that a way was
// chosen for and that users said something about: the trajectories keep both, so that a restart or
// an erasure needs nothing of its own here. Thread-safe.
class RouterLearner {
 public:
  // Lets the newest version of the router's kind choose, if there is one. SEAL_BROKEN,
  // INVALID_ARGUMENT for a damaged file, which names it; the errors of the store.
  static absl::StatusOr<std::unique_ptr<RouterLearner>> Open(
      RouterLearnerOptions options, const storage::TrajectoryStore& trajectories);

  // Whether trainings may come: where not, no request is served at random for them.
  void SetLearning(bool learning) { router_.SetExploring(learning); }
  // Users said something about a completion.
  void OnFeedback(const storage::Trajectory& trajectory);
  // Whether there are enough new outcomes for a training.
  bool due() const;
  // Trains on the newest outcomes, on the calling thread. What is surely better than serving as
  // asked and than the version that chooses (RouterGain) chooses from then on, as the next version;
  // a version that is surely worse than serving as asked is removed with those before it. Both are
  // listed as changes. CANCELLED, also where a change was undone meanwhile; the errors of the
  // services, of training and of writing.
  absl::StatusOr<RouterRound> Train(const LearningServices& services, Random& random);

  // Takes the version of a change out of service for good; the newest that is left chooses, none
  // where that is damaged. Completions created until `now_ms` (UTC) teach no router any more: what
  // they taught was undone. CANNOT_UNDO where it is gone already.
  absl::Status Withdraw(const storage::LearningChange& change, int64_t now_ms);

  RouterStatus status() const;

  // Outcomes after which a training is worth its while.
  static constexpr uint32_t kNewOutcomes = 64;

 private:
  // What a training begins with.
  struct Begun {
    std::set<std::string> waiting;
    std::shared_ptr<const inference::Router> serving;
    int64_t serving_since_ms = 0;
    int64_t counted_from = 0;
    uint64_t generation = 0;
  };

  explicit RouterLearner(RouterLearnerOptions options);
  absl::Status FindWaiting(const storage::TrajectoryStore& trajectories)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Begun Begin();
  absl::StatusOr<RouterRound> TrainFrom(const Begun& begun, const LearningServices& services,
                                        Random& random);
  // Lets the newest version of this kind choose, or none.
  absl::Status ServeNewest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ServeNone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the versions of this kind, the one that chooses last.
  absl::Status TakeBack(const LearningServices& services, RouterRound* round)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RemoveVersions() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Publish(const LearningServices& services, const serving::StoredRouter& stored,
                       RouterRound* round) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  serving::RequestRouter& router_;
  const double value_;
  const float min_rating_;
  mutable Mutex mutex_;
  serving::RouterFiles files_ ABSL_GUARDED_BY(mutex_);
  RouterStatus status_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const inference::Router> serving_ ABSL_GUARDED_BY(mutex_);
  int64_t trained_ms_ ABSL_GUARDED_BY(mutex_) = 0;  // of the version that chooses
  serving::RouterTrainingState state_ ABSL_GUARDED_BY(mutex_);
  // Response ids, so that one that is rated again counts once; at most as many as are trained on.
  std::set<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;  // counts undone changes
};

}  // namespace ruvd::learning
