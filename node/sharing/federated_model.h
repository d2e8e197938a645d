// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "federation/daf/daf_round.h"
#include "federation/events/item.h"
#include "inference/adapter/talora.h"
#include "node/learning/learning_services.h"
#include "node/learning/learning_throttle.h"
#include "node/sharing/bank_evaluation.h"
#include "node/sharing/combined_update.h"
#include "node/sharing/saved_global_adapter.h"
#include "node/sharing/update_layout.h"
#include "storage/state/state_store.h"

namespace ruvd::sharing {

struct FederatedModelOptions {
  UpdateLayout layout;
  privacy::NodeId self{};
  federation::StrategyOptions strategy;
  federation::OuterOptions
      outer;  // must be of kPlain: other rules do not come to rest when no new updates arrive
  // Peers learn from other texts than this node, so a bank that does no harm here is committed.
  federation::GateOptions gate = {.commits_harmless = true};
  float min_rating = 0.7F;  // lowest rating of a lesson that evaluates updates
  // General text that no round is trained on, in passages of at least two tokens.
  std::vector<std::vector<inference::TokenId>> general;
  // Keeps the global adapter and the verdicts on peers across restarts. Borrowed; null: they are
  // not kept.
  storage::StateStore* state = nullptr;
};

// The outcome of a round for one bank of this node.
struct BankOutcome {
  federation::BankVerdict verdict = federation::BankVerdict::kUnchanged;
  size_t contributors = 0;      // updates with a weight
  federation::BankScore score;  // of the candidate
};

// The outcome of a round.
struct FederatedOutcome {
  uint64_t round = 0;  // number of the round, counted since the node's store was made
  std::vector<BankOutcome> banks;
  std::vector<federation::PeerRecord> peers;
  size_t evaluation_lessons = 0;  // number of lessons that judged
  double general_loss = 0;        // loss of the whole candidate on general text
  std::shared_ptr<const inference::Talora>
      adapter;           // the adapter to serve from now on; null: no adapter
  bool changed = false;  // the adapter differs from the one before
  // Another round is needed: some updates were not measured yet, or the outer step has not reached
  // its target.
  bool unfinished = false;
};

// The node's global adapter, made from the newest updates of the cluster bank by bank. A round
// combines the updates (CombineNewest); if there are enough held-out lessons here, it first
// measures each update alone on them, at most limits::kMaxMeasuredUpdates new ones per round. It
// then takes the outer step towards the combined update (GlobalAdapter), and commits or rolls back
// every bank by the losses on lessons and general text in comparison with the served adapter. With
// too few lessons general text decides alone. Only one thread may use an object at a time, except
// where a method says that it is thread-safe.
class FederatedModel {
 public:
  // Continues from the saved adapter, aligned to this node's banks if they changed. Begins anew if
  // there is no saved adapter, if it belongs to another model or frame, or if it cannot be read,
  // which is logged. Returns an error if options are out of range.
  static absl::StatusOr<std::unique_ptr<FederatedModel>> Open(FederatedModelOptions options);

  const UpdateLayout& layout() const { return options_.layout; }
  // Returns the adapter that was served at Open or after the last round; null if no adapter is
  // served. Thread-safe.
  std::shared_ptr<const inference::Talora> adapter() const {
    const MutexLock lock(mutex_);
    return adapter_;
  }

  // Returns whether the served adapter may contain an update of the node: one had a weight in a
  // committed bank since the adapter last began anew. A running round is not considered.
  // Thread-safe.
  bool MayContain(const privacy::NodeId& origin) const;
  // Returns the nodes for which MayContain is known to be true. Thread-safe.
  std::set<privacy::NodeId> Contributors() const;

  // Begins anew and serves no adapter, because an update in it was withdrawn. All updates begin
  // from the frozen model, so the next rounds rebuild the adapter from the remaining updates.
  // Returns the errors of GlobalAdapter::Create.
  absl::Status Forget();
  // Keeps the saved adapter, including what a running round may still save, from being served after
  // a restart. This lasts until Forget. Thread-safe.
  void InvalidateSaved();
  // Returns whether Distrust was called and Forget was not called since. Thread-safe.
  bool saved_is_invalid() const {
    const MutexLock lock(save_mutex_);
    return saved_is_invalid_;
  }

  // Runs one round over the newest update of every node and the masked sums. A committed result is
  // saved before it is returned, if the disk allows. On CANCELLED and on errors of the store and
  // the forward pass nothing has changed.
  absl::StatusOr<FederatedOutcome> RunFederatedRound(const learning::LearningServices& services,
                                                     std::vector<federation::Item> newest,
                                                     MaskedMeanList sums = {});
  // Does what RunRound does, but gives way to serving between two forward passes, and logs the
  // outcome of every bank. `throttle` may be null.
  absl::StatusOr<FederatedOutcome> RunThrottledRound(learning::LearningThrottle* throttle,
                                                     learning::LearningServices services,
                                                     std::vector<federation::Item> newest,
                                                     MaskedMeanList sums = {});

 private:
  FederatedModel(FederatedModelOptions options, federation::GlobalAdapter global)
      : options_(std::move(options)), evaluation_(options_.layout), global_(std::move(global)) {}
  absl::Status Restore(SavedGlobalAdapter saved);
  absl::Status SetTexts(const learning::LearningServices& services);
  absl::StatusOr<CombinedUpdate> Combine(const learning::LearningServices& services,
                                         std::vector<federation::Item> newest, MaskedMeanList sums,
                                         bool* unfinished);
  federation::BankedValues MoveTowards(const CombinedUpdate& round) const;
  absl::StatusOr<federation::GateOutcome> Step(const learning::LearningServices& services,
                                               const CombinedUpdate& round);
  absl::Status Serve(uint32_t version);
  void Save() const;
  // Loads the verdicts on peers from before a restart; they continue from the present round.
  void RestoreReputations();
  void SaveReputations() const;
  // Notes the contributors of a round; all members of a masked sum count as contributors.
  void RecordContributors(const std::vector<federation::PeerRecord>& peers,
                          const MaskedMeanList& sums);

  const FederatedModelOptions options_;
  BankEvaluation evaluation_;
  federation::GlobalAdapter global_;
  federation::ReputationTable reputation_;
  uint32_t served_ = 0;  // version of the served adapter
  mutable Mutex mutex_;
  std::shared_ptr<const inference::Talora> adapter_ ABSL_GUARDED_BY(mutex_);
  std::set<privacy::NodeId> contributors_ ABSL_GUARDED_BY(mutex_);
  mutable Mutex save_mutex_;  // held while the adapter is saved
  bool saved_is_invalid_ ABSL_GUARDED_BY(save_mutex_) = false;
};

}  // namespace ruvd::sharing
