// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/maintenance_actor.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/status.h"
#include "node/limits.h"

namespace ruvd {
namespace {

struct Tick {};
using Message = std::variant<Tick>;

// What a round found.
struct Round {
  absl::Status reseal;
  absl::Status patterns;
  bool more = false;  // go on without waiting
};

// At most limits::kResealStepsPerRound batches of 128 rows.
absl::StatusOr<bool> Reseal(const MaintenanceOptions& options) {
  bool more = true;
  for (size_t step = 0; more && step < limits::kResealStepsPerRound && !options.cancelled();
       ++step) {
    ASSIGN_OR_RETURN(more, options.database->ResealStep());
  }
  return more;
}

Round RunRound(const MaintenanceOptions& options) {
  Round round;
  const absl::StatusOr<bool> unsealed = Reseal(options);
  round.reseal = unsealed.status();
  round.more = unsealed.ok() && *unsealed;
  if (!options.cancelled()) {
    const PatternMaintenance done = options.patterns->Maintain(limits::kMaintenanceBudget);
    round.patterns = done.status;
    round.more = round.more || done.more;
  }
  return round;
}

class MaintenanceActor final : public Actor<Message> {
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
        // Holds nothing of this actor: after a forced stop the round outlives it.
        [options = options_, round] { *round = RunRound(options); },
        [this, round](Context& own) {
          running_ = false;
          Report("values are not sealed anew", round->reseal, &reported_reseal_);
          Report("the patterns are not looked after", round->patterns, &reported_patterns_);
          if (round->more) {
            own.Self().TryTell(Tick{}).IgnoreError();  // the timer comes anyway
          }
          return absl::OkStatus();
        });
  }

 private:
  // One line per reason until it works again: a full disk must not fill the log too.
  static void Report(std::string_view what, const absl::Status& status, std::string* reported) {
    const std::string reason = ReasonOf(status);
    if (!status.ok() && reason != *reported) {
      spdlog::warn("{}: {} [{}]", what, MessageOf(status), reason);
      *reported = reason;
    } else if (status.ok()) {
      reported->clear();
    }
  }

  const MaintenanceOptions options_;
  bool running_ = false;
  std::string reported_reseal_;
  std::string reported_patterns_;
};

}  // namespace

void StartMaintenanceActor(ActorSystem& system, const MaintenanceOptions& options) {
  SpawnOptions<Message> spawn;
  spawn.name = "maintenance";
  spawn.mailbox.capacity = limits::kMaintenanceMailbox;
  spawn.mailbox.overflow = Overflow::kDropOldest;
  system.Spawn<Message>(spawn, [options] { return std::make_unique<MaintenanceActor>(options); });
}

}  // namespace ruvd
