// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/executor.h"
#include "federation/core/gossip_core.h"
#include "federation/learner/plan.h"
#include "federation/limits.h"
#include "inference/adapter/core_shape.h"
#include "inference/adapter/frame_set.h"
#include "node/learning/learning_services.h"
#include "node/learning/learning_throttle.h"
#include "node/runtime/actor_system.h"
#include "node/serving/adapter_catalog.h"
#include "node/sharing/contribution_judge.h"
#include "node/sharing/expert_trial.h"
#include "node/sharing/federation.h"
#include "node/sharing/global_gate.h"
#include "node/sharing/local_contributor.h"
#include "node/sharing/node_rounds.h"
#include "node/sharing/operator_withdrawal.h"
#include "node/sharing/pattern_trial.h"
#include "node/sharing/peer_counters.h"
#include "node/sharing/trust_records.h"
#include "storage/consent/consent_book.h"
#include "storage/consent/consent_store.h"
#include "storage/consent/release_source_store.h"
#include "storage/consent/withdrawal_store.h"
#include "storage/items/item_store.h"
#include "storage/lessons/lesson_store.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::actors {

// What the rounds of the cluster need besides the contributor. All but `plan` and `frame` is
// borrowed.
struct RoundLearningOptions {
  std::shared_ptr<const federation::LearnerPlan> plan;
  std::shared_ptr<const inference::FrameSet> frame;
  inference::CoreShape shape;           // of the global adapter, in the frame
  sharing::GlobalGate* gate = nullptr;  // used only on the learning pool
  // Likewise; needed only if the plan counts quality
  const sharing::ContributionJudge* judge = nullptr;
  serving::AdapterCatalog* catalog = nullptr;  // serves the global adapter
  sharing::ContributionEdit edit;              // null: contributions are what was made
};

struct FederationActorOptions {
  federation::GossipConfig gossip;  // its boot counter comes from next_boot
  // Increments the durable boot counter and returns it.
  std::function<absl::StatusOr<uint64_t>()> next_boot;
  // Returns the newest certificate of this node, for an actor that is restarted. Empty: the one in
  // `gossip`.
  std::function<privacy::AdmissionCert()> certificate;
  const privacy::NodeKey* key = nullptr;
  const Clock* clock = nullptr;
  storage::ItemStore* items = nullptr;
  storage::PatternStore* patterns = nullptr;
  storage::ConsentStore* consent = nullptr;
  // Counts the withdrawals of lessons; null: one before a crash may not reach peers
  storage::LessonStore* lessons = nullptr;
  storage::WithdrawalStore* withdrawals = nullptr;  // null: withdrawals are not recorded
  storage::ReleaseSourceStore* releases =
      nullptr;  // null: a restart forgets who contributed to what this node offers
  const storage::ConsentBook* consents = nullptr;  // of users and sessions
  // Checks tiers, and makes contributions on `learning_pool`
  const sharing::LocalContributor* contributor = nullptr;
  const inference::FrameSet* frame = nullptr;  // of the patterns' cores; null: none are shared
  uint32_t public_examples = 1;  // least examples of a pattern that is shared or accepted
  float pattern_quality = 0;     // least quality that a peer's pattern must claim
  // Used only on `learning_pool`; null: peers' patterns stay on trial
  sharing::PatternTrial* trial = nullptr;
  // Used only on `learning_pool`; null: experts are neither offered nor taken
  sharing::ExpertTrial* expert_trial = nullptr;
  sharing::PeerCounters* peer_counters = nullptr;  // null: there are no metrics
  learning::LearningServices learning;  // used only on `learning_pool`, which has one thread
  learning::LearningThrottle* throttle = nullptr;  // null: rounds give way to no one
  Executor* learning_pool = nullptr;
  // Takes the operator's withdrawal of consent while the actor does not work; `pool` waits for it
  sharing::OperatorWithdrawal* withdrawal = nullptr;
  Executor* pool = nullptr;
  // Starts a link to host:port, which ends in OpenLink or OnDialFailed. Must be set before the
  // first Dial action.
  std::function<void(const std::string&)> dial;
  // The actor does not start if it cannot load the revocation list.
  sharing::TrustStore trust;
  storage::StateStore* state = nullptr;  // null: a restart forgets the settled rounds
  // nullopt: the node takes part in no rounds, because its model has no frame
  std::optional<RoundLearningOptions> rounds;
};

// Starts the federation actor in `system`. Everything borrowed must outlive the system. Returns the
// errors of GossipCore::Create for the certificate and the key.
absl::StatusOr<std::unique_ptr<sharing::FederationActor>> StartFederationActor(
    runtime::ActorSystem& system, const FederationActorOptions& options);

// What a node that does not federate needs. Everything is borrowed.
struct IsolationOptions {
  const Clock* clock = nullptr;
  storage::ConsentStore* consent = nullptr;
  sharing::OperatorWithdrawal* withdrawal = nullptr;
  const privacy::NodeKey* key = nullptr;
  Executor* pool = nullptr;  // waits for the disk
  absl::Status why;          // why a node that should federate does not; OK: it should not
};

// Returns the replacement on a node that does not federate: it opens no links and refuses consent
// with an error that says what to do. A withdrawal of consent is stored, so that it holds when the
// node federates again.
std::unique_ptr<sharing::FederationActor> MakeIsolatedFederation(const IsolationOptions& options);

}  // namespace ruvd::actors
