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
#include "node/serving/extensions/request_router.h"
#include "node/serving/router_files.h"
#include "storage/changes/learning_change.h"

namespace ruvd::learning {

enum class RouterVerdict : uint8_t {
  kPublished,
  kTooFewOutcomes,  // for all routes but one
  kNoGain,          // not reliably better than what is served now
  kWithdrawn,       // the served router is reliably worse than serving as asked
};
std::string_view RouterVerdictName(RouterVerdict verdict);  // "published", "too_few_outcomes", ...

// The result of one training of the router.
struct RouterRound {
  RouterVerdict verdict = RouterVerdict::kTooFewOutcomes;
  uint32_t outcomes = 0;
  double gain = 0;  // as in TrainedRouter
  double standard_error = 0;
  // What was published or taken back; after version 0, no router chooses.
  std::optional<storage::LearningChange> change;
};

// Writes the result to the node's log; a cancelled training is not logged.
void LogRouterRound(const absl::StatusOr<RouterRound>& round);

// The state of a node's router.
struct RouterStatus {
  std::string kind;       // kind of its scorers; empty: the router is off
  uint32_t version = 0;   // the version that chooses; 0: requests are served as asked
  uint32_t outcomes = 0;  // number of outcomes that it was trained on
  uint32_t waiting = 0;   // completions with an outcome since the last training
  std::optional<RouterRound> last = std::nullopt;  // the last training since the start
};

// The name under which router versions are listed as changes.
inline constexpr char kRouterName[] = "router";

struct RouterLearnerOptions {
  serving::RequestRouter* router = nullptr;  // borrowed
  storage::StateStore* state = nullptr;      // borrowed; holds the versions
  double value = 10;                         // as in RouteTraining
  float min_rating = 0.7F;
};

// Learns which route is worth most for which request, from completions whose route was chosen and
// that users gave feedback on. The trajectories hold both, so a restart or an erasure needs no
// extra work here. Thread-safe.
class RouterLearner {
 public:
  // Serves the newest version of the router's kind, if there is one. Returns the errors of
  // RouterFiles, which name what is damaged.
  static absl::StatusOr<std::unique_ptr<RouterLearner>> Open(
      RouterLearnerOptions options, const storage::TrajectoryStore& trajectories);

  // Sets whether trainings may run; if not, no request is served at random for them.
  void SetLearning(bool learning) { router_.SetExploring(learning); }
  // Reports that users gave feedback on a completion.
  void OnFeedback(const storage::Trajectory& trajectory);
  // Returns whether there are enough new outcomes for a training.
  bool due() const;
  // Trains on the newest outcomes, on the calling thread. A router that is reliably better than
  // serving as asked and than the serving version (RouterGain) becomes the next version and serves
  // from then on. If the serving version is reliably worse than serving as asked, all versions are
  // removed. Both are listed as changes. Returns CANCELLED, also if a change was undone meanwhile,
  // and the errors of the services, of training and of writing.
  absl::StatusOr<RouterRound> Train(const LearningServices& services, Random& random);

  // Takes the version of a change out of service for good; the newest remaining version serves, or
  // none if that one is damaged. Completions created until `now_ms` (UTC) are not used for training
  // any more, because what they taught was undone. Returns CANNOT_UNDO if the version is already
  // gone.
  absl::Status Withdraw(const storage::LearningChange& change, int64_t now_ms);

  RouterStatus status() const;

  // Number of new outcomes that makes a training worthwhile.
  static constexpr uint32_t kNewOutcomes = 64;

 private:
  // The state that a training starts from.
  struct TrainingStart {
    std::set<std::string> waiting;
    std::shared_ptr<const inference::Router> serving;
    int64_t serving_since_ms = 0;
    int64_t counted_from = 0;
    uint64_t generation = 0;
  };

  explicit RouterLearner(RouterLearnerOptions options);
  absl::Status FindWaiting(const storage::TrajectoryStore& trajectories)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  TrainingStart Begin();
  absl::StatusOr<RouterRound> TrainFrom(const TrainingStart& begun,
                                        const LearningServices& services, Random& random);
  // Serves the newest version of this kind, or none.
  absl::Status ServeNewest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopServing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes all versions of this kind and lists that as a change.
  absl::Status WithdrawVersions(const LearningServices& services, RouterRound* round)
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
  int64_t trained_ms_ ABSL_GUARDED_BY(mutex_) = 0;  // of the serving version
  serving::RouterTrainingState state_ ABSL_GUARDED_BY(mutex_);
  // Response ids, so that a completion rated twice counts once; at most as many as one training
  // uses.
  std::set<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;  // counts undone changes
};

}  // namespace ruvd::learning
