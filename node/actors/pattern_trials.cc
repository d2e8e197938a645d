// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/pattern_trials.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/patterns/shared_pattern.h"
#include "node/actors/log_failure.h"
#include "node/actors/throttled_learning.h"
#include "node/log/log.h"
#include "node/sharing/limits.h"
#include "node/sharing/pattern_trial.h"
#include "ruvd/cluster/v1/cluster.pb.h"

namespace ruvd::actors {
namespace {

using google::protobuf::util::TimeUtil;

void LogVerdict(const storage::Pattern& pattern, const sharing::TrialVerdict& verdict) {
  LogInfo(
      "pattern {} of {}: {}; gain {:+.4f} on {} lessons near it (standard error {:.4f}), general "
      "text {:.4f} to {:.4f}",
      ToHex(pattern.id), ToHex(pattern.origin).substr(0, 16),
      storage::Serves(verdict.standing) ? "serves" : sharing::RefusalReasonOf(verdict.standing),
      verdict.gain, verdict.lessons, verdict.standard_error, verdict.general_before,
      verdict.general_after);
}

}  // namespace

void PatternTrials::OnRestored(const federation::GossipCore& core) {
  LogFailure("patterns of peers from before the restart could not be stored",
             patterns_.StoreAll(core, options_.gossip.model_hash, options_.gossip.frame_id));
  if (options_.learning.trajectories == nullptr ||
      !patterns_.Standings().contains(storage::PatternStanding::kServing)) {
    return;
  }
  LogFailure("the ratings of peers' patterns could not be read",
             options_.learning.trajectories->ForEachSince(
                 0, [this](const storage::Trajectory& trajectory) {
                   if (const auto use = sharing::RatedUseOf(trajectory)) {
                     OnRated(*use);
                   }
                   return true;
                 }));
}

void PatternTrials::OnRated(const sharing::RatedUse& use) {
  LogFailure("a pattern that is rated badly could not be dropped", patterns_.OnRated(use));
}

void PatternTrials::OnTick(const federation::GossipCore& core, Context& context) {
  LogFailure("changes of peers' patterns could not be followed", patterns_.FollowChanges());
  LogFailure("a peer's pattern could not be stored", patterns_.StoreDeferred(core));
  if (!running_ && options_.trial != nullptr) {
    Begin(context);
  }
  if (options_.peer_counters != nullptr) {
    options_.peer_counters->Set(patterns_.Standings(), patterns_.refused());
  }
}

void PatternTrials::Begin(Context& context) {
  absl::StatusOr<std::optional<storage::Pattern>> next =
      patterns_.NextTrial(options_.clock->WallMillis());
  LogFailure("a peer's pattern could not be read for its trial", next.status());
  if (!next.ok() || !next->has_value()) {
    return;
  }
  const auto pattern = std::make_shared<const storage::Pattern>(*std::move(*next));
  auto verdict =
      std::make_shared<absl::StatusOr<sharing::TrialVerdict>>(absl::CancelledError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      // The work refers to nothing in this actor, because it outlives the actor after a forced
      // stop.
      [trial = options_.trial, services = options_.learning, throttle = options_.throttle, pattern,
       verdict]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        *verdict = trial->Judge(services, *pattern);
      },
      [this, pattern, verdict](Context&) {
        running_ = false;
        if (verdict->ok()) {
          LogVerdict(*pattern, **verdict);
          LogFailure("the verdict on a peer's pattern could not be stored",
                     patterns_.EndTrial(*pattern, (*verdict)->standing));
          return absl::OkStatus();
        }
        if (!absl::IsCancelled(verdict->status())) {
          LogFailure("a peer's pattern could not be judged", verdict->status());
        }
        patterns_.PostponeTrial(
            pattern->id,
            options_.clock->WallMillis() + std::chrono::milliseconds(limits::kTrialRetry).count());
        return absl::OkStatus();
      });
  running_ = started.ok();
  LogFailure("the trial of a peer's pattern was not begun", started);
}

std::map<privacy::NodeId, cluster::v1::PeerPatternStatus> PatternTrials::View(
    const federation::GossipCore& core) const {
  struct Known {
    std::set<storage::PatternId> offered;
    uint32_t fetching = 0;
    int64_t newest_waiting_ms = 0;
  };
  std::map<privacy::NodeId, Known> known;
  for (const federation::Item& item : core.Items()) {
    const auto id = item.kind == federation::ItemKind::kPattern && item.origin != options_.key->id()
                        ? federation::SharedPatternId(AsBytes(*item.payload))
                        : std::nullopt;
    if (id) {
      known[item.origin].offered.insert(*id);
    }
  }
  for (const federation::IncomingItem& item : core.Incoming()) {
    if (item.kind == federation::ItemKind::kPattern) {
      Known& peer = known[item.origin];
      ++peer.fetching;
      peer.newest_waiting_ms = std::max(peer.newest_waiting_ms, item.created_ms);
    }
  }
  std::map<privacy::NodeId, sharing::PeerPatternCounts> counts = patterns_.Counts();
  for (const auto& [peer, own] : counts) {
    known.try_emplace(peer);
  }
  const int64_t now_ms = options_.clock->WallMillis();
  std::map<privacy::NodeId, cluster::v1::PeerPatternStatus> view;
  for (const auto& [peer, own] : known) {
    const sharing::PeerPatternCounts& here = counts[peer];
    cluster::v1::PeerPatternStatus& status = view[peer];
    status.set_offered(static_cast<uint32_t>(own.offered.size()) + own.fetching);
    status.set_taken(static_cast<uint32_t>(here.serving));
    status.set_on_trial(static_cast<uint32_t>(here.on_trial));
    status.set_deferred(static_cast<uint32_t>(here.deferred));
    status.set_fetching(own.fetching);
    status.set_without_adapter(static_cast<uint32_t>(here.without_adapter));
    status.mutable_refused()->insert(here.refused.begin(), here.refused.end());
    const int64_t newest_ms = std::max(own.newest_waiting_ms, here.newest_waiting_ms);
    if (newest_ms != 0) {
      *status.mutable_lag() =
          TimeUtil::MillisecondsToDuration(std::max<int64_t>(0, now_ms - newest_ms));
    }
  }
  return view;
}

}  // namespace ruvd::actors
