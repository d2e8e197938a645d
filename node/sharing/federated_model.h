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
#include "node/sharing/federated_round.h"
#include "node/sharing/global_adapter_file.h"
#include "node/sharing/reputation_file.h"
#include "node/sharing/update_layout.h"
#include "privacy/seal/seal.h"

namespace ruvd::sharing {

struct FederatedModelOptions {
  UpdateLayout layout;
  privacy::NodeId self{};
  federation::StrategyOptions strategy;
  federation::OuterOptions outer;  // of kPlain, others do not settle where nothing new comes
  // Others' texts are not this node's: what does no harm here is taken.
  federation::GateOptions gate = {.commits_harmless = true};
  float min_rating = 0.7F;  // of lessons that judge
  // General text that no round ever learns, in passages of at least two tokens.
  std::vector<std::vector<inference::TokenId>> general;
  // Where the global adapter lasts over restarts, sealed; without a key it does not.
  std::string path;
  std::optional<privacy::SealKey> key;
  ReputationFile reputations;  // where verdicts on peers last
};

// What a round did with a bank of this node.
struct BankOutcome {
  federation::BankVerdict verdict = federation::BankVerdict::kUnchanged;
  size_t contributors = 0;      // updates that had a say
  federation::BankScore score;  // of the candidate
};

// What became of a round.
struct FederatedOutcome {
  uint64_t round = 0;  // of this node, counted since its store was made
  std::vector<BankOutcome> banks;
  std::vector<federation::PeerRecord> peers;
  size_t judges = 0;                                 // lessons that judged
  double general_loss = 0;                           // of the whole candidate
  std::shared_ptr<const inference::Talora> adapter;  // what is served from now on; null: nothing
  bool changed = false;                              // it is another than before
  // Another round would go on: updates were not measured yet, or the outer step has further to go.
  bool unfinished = false;
};

// The node's global adapter: what the cluster's newest updates make of it, bank by bank. A round
// combines them (CombineNewest), each measured alone on this node's held-out lessons where there
// are enough, limits::kMaxMeasuredUpdates new ones at a time; takes the outer step towards what
// they say (GlobalAdapter), and commits or rolls back every bank by what lessons and general text
// say of the result beside what is served. Where there are too few lessons general text decides
// alone. One thread uses it at a time.
class FederatedModel {
 public:
  // Goes on where the saved one was, aligned where this node's banks have changed since; anew where
  // there is none, or one of another model or frame, or it cannot be read, which is logged. Errors:
  // options out of range.
  static absl::StatusOr<std::unique_ptr<FederatedModel>> Open(FederatedModelOptions options);

  const UpdateLayout& layout() const { return options_.layout; }
  // What was served when it was opened, or after the last round; null: nothing. Thread-safe.
  std::shared_ptr<const inference::Talora> adapter() const {
    const MutexLock lock(mutex_);
    return adapter_;
  }

  // Whether an update of the node may be part of what is served: since it began anew last, one had
  // a weight in what was committed. A round that runs is not looked at. Thread-safe.
  bool MayHold(const privacy::NodeId& origin) const;
  // The nodes of which that is known. Thread-safe.
  std::set<privacy::NodeId> Contributors() const;

  // Begins anew from nothing and serves nothing, as something in it was taken back: all updates
  // begin from the frozen model, so that the next rounds make it of those that are left. Errors of
  // GlobalAdapter::Create.
  absl::Status Forget();
  // What was saved, and what a round that runs may still save, is not served after a restart, until
  // Forget. Thread-safe.
  void Distrust();
  // Since Distrust there was no Forget. Thread-safe.
  bool distrusted() const {
    const MutexLock lock(save_mutex_);
    return distrusted_;
  }

  // One round over the newest update of every node and the masked sums. What is committed is saved
  // before it is returned, where the disk allows. CANCELLED, and the errors of the store and the
  // forward pass: then nothing has changed.
  absl::StatusOr<FederatedOutcome> RunRound(const learning::LearningServices& services,
                                            std::vector<federation::Item> newest,
                                            MaskedMeanList sums = {});
  // The same, giving way to serving between two forwards; `throttle` may be null. Logs what became
  // of every bank.
  absl::StatusOr<FederatedOutcome> RunBeside(learning::LearningThrottle* throttle,
                                             learning::LearningServices services,
                                             std::vector<federation::Item> newest,
                                             MaskedMeanList sums = {});

 private:
  FederatedModel(FederatedModelOptions options, federation::GlobalAdapter global)
      : options_(std::move(options)), evaluation_(options_.layout), global_(std::move(global)) {}
  absl::Status Restore(SavedGlobalAdapter saved);
  absl::Status SetTexts(const learning::LearningServices& services);
  absl::StatusOr<FederatedRound> Combine(const learning::LearningServices& services,
                                         std::vector<federation::Item> newest, MaskedMeanList sums,
                                         bool* unfinished);
  federation::BankedValues MoveTowards(const FederatedRound& round) const;
  absl::StatusOr<federation::GateOutcome> Step(const learning::LearningServices& services,
                                               const FederatedRound& round);
  absl::Status Serve(uint32_t version);
  void Save() const;
  // Verdicts of rounds before a restart count on in the present round.
  void RestoreReputations();
  void KeepReputations() const;
  // Of a sum all members count.
  void NoteContributors(const std::vector<federation::PeerRecord>& peers,
                        const MaskedMeanList& sums);

  const FederatedModelOptions options_;
  BankEvaluation evaluation_;
  federation::GlobalAdapter global_;
  federation::ReputationTable reputation_;
  uint32_t served_ = 0;  // version
  mutable Mutex mutex_;
  std::shared_ptr<const inference::Talora> adapter_ ABSL_GUARDED_BY(mutex_);
  std::set<privacy::NodeId> contributors_ ABSL_GUARDED_BY(mutex_);
  mutable Mutex save_mutex_;  // held while the file is written
  bool distrusted_ ABSL_GUARDED_BY(save_mutex_) = false;
};

}  // namespace ruvd::sharing
