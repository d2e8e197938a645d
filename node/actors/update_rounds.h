// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "federation/events/item.h"
#include "node/actors/federation_actor.h"
#include "node/actors/gossip_actor.h"
#include "node/runtime/actor.h"
#include "node/sharing/federated_model.h"
#include "node/sharing/withdrawal_pauses.h"

namespace ruvd::actors {

// The federation actor's rounds of updates: when one runs, what of it is served, and when the
// global adapter is made anew since something in it was taken back. One life of the actor; not
// thread-safe.
class UpdateRounds {
 public:
  using Context = runtime::ActorContext<GossipMessage>;

  // What a round is of, as it begins.
  struct Source {
    std::function<std::vector<federation::Item>()> newest;  // update of every node
    std::function<sharing::MaskedMeanList()> sums;
  };
  // What `options` point to outlives this.
  UpdateRounds(const FederationActorOptions& options, Source source);

  // Serves what was saved, unless a former life of the actor found something in it that was taken
  // back, and ended before it began anew.
  void Restore();
  // A round over the newest update of every node. One at a time: what peers send while it runs is
  // taken together afterwards, so they cannot queue up work.
  void Run(Context& context);
  // The same where the last one has further to go, or a pause of somebody's updates is over.
  void RunIfDue(Context& context);

  // An update was taken back. Where it may be in the global adapter, that is made anew, and further
  // updates of its node pause, unless it is this one.
  void TakeBack(const federation::Item& update);
  // Serves nothing until the next round, which begins from nothing.
  void BeginAnew(const privacy::NodeId& without);
  // It begins from nothing.
  bool stale() const { return stale_; }

  uint32_t served_version() const { return served_version_; }  // 0: nothing is served
  const std::optional<sharing::FederatedOutcome>& last() const { return last_; }

 private:
  void End(absl::StatusOr<sharing::FederatedOutcome>& outcome, Context& context);
  void Serve(const std::shared_ptr<const inference::Talora>& adapter);

  const FederationActorOptions& options_;
  const Source source_;
  uint32_t served_version_ = 0;
  std::optional<sharing::FederatedOutcome> last_;
  bool running_ = false;
  bool again_ = false;       // updates came while it ran
  bool unfinished_ = false;  // the last one
  TimePoint next_{};         // where nothing new comes
  sharing::WithdrawalPauses pauses_;
  std::optional<TimePoint> pause_ends_;  // the first of those that left out an update
  bool stale_ = false;                   // the global adapter may hold what was taken back since
};

}  // namespace ruvd::actors
