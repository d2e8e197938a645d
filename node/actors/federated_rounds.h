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

// The federation actor's rounds of updates: when a round runs, which result is served, and when the
// global adapter is rebuilt because an update in it was withdrawn. It belongs to one life of the
// actor. Not thread-safe.
class FederatedRounds {
 public:
  using Context = runtime::ActorContext<GossipMessage>;

  // The inputs of a round when it begins.
  struct Source {
    std::function<std::vector<federation::Item>()> newest;  // newest update of every node
    std::function<sharing::MaskedMeanList()> sums;
  };
  // Everything that `options` point to must outlive this object.
  FederatedRounds(const FederationActorOptions& options, Source source);

  // Serves the saved adapter, unless an earlier life of the actor found a withdrawn update in it
  // and ended before rebuilding it.
  void Restore();
  // Runs a round over the newest update of every node. Only one runs at a time: updates that arrive
  // meanwhile are combined in one later round, so peers cannot queue up work.
  void Run(Context& context);
  // Runs a round if the last one was not finished, or if the pause of a node's updates is over.
  void RunIfDue(Context& context);

  // Handles a withdrawn update. If the global adapter may contain it, the adapter is rebuilt, and
  // further updates of that node are paused, unless it is this node.
  void OnUpdateWithdrawn(const federation::Item& update);
  // Stops serving until the next round, which starts from zero.
  void RestartFromBase(const privacy::NodeId& without);
  // Returns whether the next round starts from zero.
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
  bool again_ = false;       // updates came while a round ran
  bool unfinished_ = false;  // the last round has more to do
  TimePoint next_{};         // earliest next round without new updates
  sharing::WithdrawalPauses pauses_;
  std::optional<TimePoint> pause_ends_;  // earliest end of a pause that left out an update
  bool stale_ = false;                   // the global adapter may contain a withdrawn update
};

}  // namespace ruvd::actors
