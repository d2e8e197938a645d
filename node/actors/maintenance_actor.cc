// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/maintenance_actor.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/status.h"
#include "node/limits.h"
#include "node/log/log.h"

namespace ruvd::actors {
namespace {

struct Tick {};
using MaintenanceMessage = std::variant<Tick>;

// The results of a round.
struct Round {
  absl::Status sync;
  absl::Status reseal;
  absl::Status reclaim;
  absl::Status patterns;
  absl::Status graph;
  bool more = false;  // continue without waiting
};

// Re-seals at most limits::kResealStepsPerRound batches of 128 rows. Returns whether there is more.
absl::StatusOr<bool> Reseal(const MaintenanceOptions& options) {
  bool more = true;
  for (size_t step = 0; more && step < limits::kResealStepsPerRound && !options.cancelled();
       ++step) {
    ASSIGN_OR_RETURN(more, options.database->ResealStep());
  }
  return more;
}

absl::Status SyncPatterns(const MaintenanceOptions& options) {
  const uint64_t before = options.patterns->Stats().last_sequence;
  RETURN_IF_ERROR(options.patterns->Sync());
  const uint64_t changes = options.patterns->Stats().last_sequence - before;
  if (options.commits != nullptr && changes > 0) {
    options.commits->commits.fetch_add(1, std::memory_order_relaxed);
    options.commits->put_off.fetch_add(changes - 1, std::memory_order_relaxed);
  }
  return absl::OkStatus();
}

Round RunComputeRound(const MaintenanceOptions& options) {
  Round round;
  round.sync = SyncPatterns(options);
  const absl::StatusOr<bool> unsealed = Reseal(options);
  round.reseal = unsealed.status();
  round.more = unsealed.ok() && *unsealed;
  if (!options.cancelled()) {  // one step per round, because this is never urgent
    round.reclaim = options.database->ReclaimKeysStep().status();
  }
  if (!options.cancelled()) {
    const storage::PatternMaintenance done = options.patterns->Maintain(limits::kMaintenanceBudget);
    round.patterns = done.status;
    round.more = round.more || done.more;
  }
  if (options.graph != nullptr && !options.cancelled()) {
    const absl::StatusOr<bool> more = options.graph->Maintain();
    round.graph = more.status();
    round.more = round.more || (more.ok() && *more);
  }
  return round;
}

// Reports what happens without a request and would otherwise go unnoticed: removed patterns,
// damage, checkpoints that were not saved. It reports sums, and nothing twice.
class PatternReport {
 public:
  void Look(const storage::PatternStore& patterns, TimePoint now) {
    if (looked_at_ && now - *looked_at_ < limits::kPatternReportInterval) {
      return;
    }
    const storage::PatternStoreStats stats = patterns.Stats();
    const uint64_t expired = stats.expired - (looked_at_ ? expired_ : 0);
    const uint64_t evicted = stats.evicted - (looked_at_ ? evicted_ : 0);
    if (expired + evicted > 0) {
      LogInfo("patterns removed: {} expired, {} evicted above storage.patterns = {}", expired,
              evicted, stats.capacity);
    }
    if (stats.damaged > damaged_) {
      LogWarning("{} patterns have damaged rows and are left out; `ruvd store verify` names them",
                 stats.damaged);
    }
    if (!stats.checkpoint.problem.empty() && stats.checkpoint.problem != problem_) {
      LogWarning("the checkpoint of the pattern graph: {}; the next start rebuilds the graph",
                 stats.checkpoint.problem);
    }
    looked_at_ = now;
    expired_ = stats.expired;
    evicted_ = stats.evicted;
    damaged_ = stats.damaged;
    problem_ = stats.checkpoint.problem;
  }

 private:
  std::optional<TimePoint> looked_at_;
  uint64_t expired_ = 0;
  uint64_t evicted_ = 0;
  size_t damaged_ = 0;
  std::string problem_;
};

class MaintenanceActor final : public runtime::Actor<MaintenanceMessage> {
 public:
  explicit MaintenanceActor(const MaintenanceOptions& options) : options_(options) {}

  absl::Status OnStart(Context& context) override {
    return context.StartPeriodicTimer(options_.period, [] { return Tick{}; }).status();
  }

  absl::Status On(Tick&, Context& context) override {
    if (running_ || options_.cancelled()) {
      return absl::OkStatus();
    }
    running_ = true;
    auto round = std::make_shared<Round>();
    return context.Offload(
        *options_.pool,
        // The work refers to nothing in this actor, because it outlives the actor after a forced
        // stop.
        [options = options_, round] { *round = RunComputeRound(options); },
        [this, round](Context& own) {
          running_ = false;
          Report("patterns of peers could not be made durable", round->sync, &reported_sync_);
          Report("values could not be re-sealed", round->reseal, &reported_reseal_);
          Report("keys of users without rows could not be removed", round->reclaim,
                 &reported_reclaim_);
          Report("the maintenance of patterns failed", round->patterns, &reported_patterns_);
          Report("relations of deleted sessions or patterns could not be removed", round->graph,
                 &reported_graph_);
          report_.Look(*options_.patterns, own.Now());
          if (round->more) {
            own.Self().TryTell(Tick{}).IgnoreError();  // the timer comes anyway
          }
          return absl::OkStatus();
        });
  }

 private:
  // Writes one line per reason until the step works again: a full disk must not fill the log, too.
  static void Report(std::string_view what, const absl::Status& status, std::string* reported) {
    const std::string reason = ReasonOf(status);
    if (!status.ok() && reason != *reported) {
      LogWarning("{}: {} [{}]", what, MessageOf(status), reason);
      *reported = reason;
    } else if (status.ok()) {
      reported->clear();
    }
  }

  const MaintenanceOptions options_;
  bool running_ = false;
  std::string reported_sync_;
  std::string reported_reseal_;
  std::string reported_reclaim_;
  std::string reported_patterns_;
  std::string reported_graph_;
  PatternReport report_;
};

}  // namespace

void StartMaintenanceActor(runtime::ActorSystem& system, const MaintenanceOptions& options) {
  runtime::SpawnOptions<MaintenanceMessage> spawn;
  spawn.name = "maintenance";
  spawn.mailbox.capacity = limits::kMaintenanceMailbox;
  spawn.mailbox.overflow = runtime::Overflow::kDropOldest;
  system.Spawn<MaintenanceMessage>(
      spawn, [options] { return std::make_unique<MaintenanceActor>(options); });
}

}  // namespace ruvd::actors
