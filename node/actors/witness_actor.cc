// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/witness_actor.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "node/limits.h"

namespace ruvd {
namespace {

// A quarter of what an entry may wait.
constexpr std::chrono::milliseconds kTick{250};
constexpr Duration kExpiryPeriod = std::chrono::minutes(1);
constexpr size_t kSessionsPerTick = 64;

struct Turn {
  std::string session_id;
  std::string response_id;
  std::vector<float> context;
  std::string adapter;  // empty: none
  int64_t ended_ms = 0;
};
struct Tick {};
using Message = std::variant<Turn, Tick>;

class WitnessActor final : public Actor<Message> {
 public:
  explicit WitnessActor(const WitnessActorOptions& options) : options_(options) {}

  absl::Status OnStart(Context& context) override {
    next_expiry_ = context.Now();
    return context.StartPeriodicTimer(kTick, [] { return Tick{}; }).status();
  }

  absl::Status On(Turn& turn, Context&) override {
    Report(options_.sessions->Update(turn.session_id, turn.ended_ms, [&](SessionState* session) {
      ++session->turn_count;
      session->last_active_ms = turn.ended_ms;
      session->history_reference = turn.response_id;
      session->context_embedding = turn.context;
      session->active_adapter = turn.adapter.empty() ? std::nullopt : std::optional(turn.adapter);
    }));
    return absl::OkStatus();
  }

  absl::Status On(Tick&, Context& context) override {
    Report(options_.log->FlushDue(context.Now()).status());
    if (context.Now() >= next_expiry_ && !Expire()) {
      next_expiry_ = context.Now() + kExpiryPeriod;
    }
    return absl::OkStatus();
  }

  absl::Status OnStop(Context&) override {
    Report(options_.log->FlushAll());
    return absl::OkStatus();
  }

 private:
  // One bounded step; true if the next tick should go on with it.
  bool Expire() {
    const int64_t now_ms = options_.clock->WallMillis();
    const absl::StatusOr<WitnessExpired> entries = options_.log->ExpireSome(now_ms);
    const absl::StatusOr<size_t> sessions = options_.sessions->ExpireSome(now_ms, kSessionsPerTick);
    Report(entries.status());
    Report(sessions.status());
    return (entries.ok() && entries->more) || (sessions.ok() && *sessions == kSessionsPerTick);
  }

  // A store that refuses writes costs the log and the sessions, not the requests. One line per
  // reason until it works again: a full disk must not fill the log too.
  void Report(const absl::Status& status) {
    const std::string reason = ReasonOf(status);
    if (!status.ok() && reason != reported_) {
      spdlog::warn("what requests did is not stored: {} [{}]", MessageOf(status), reason);
      reported_ = reason;
    } else if (status.ok()) {
      reported_.clear();
    }
  }

  const WitnessActorOptions options_;
  TimePoint next_expiry_{};
  std::string reported_;
};

class WitnessRecorder final : public RequestRecorder {
 public:
  WitnessRecorder(ActorSystem& system, const WitnessActorOptions& options) : options_(options) {
    SpawnOptions<Message> spawn;
    spawn.name = "witness";
    spawn.mailbox.capacity = limits::kWitnessMailbox;
    spawn.mailbox.overflow = Overflow::kDropOldest;  // counted as dead letters
    ref_ =
        system.Spawn<Message>(spawn, [options] { return std::make_unique<WitnessActor>(options); });
  }

  void Record(WitnessEntry entry) override {
    if (!entry.session_id.empty() && !entry.error) {
      // A node that stops takes no more turns; the next one of the session begins it anew.
      ref_.TryTell(Turn{.session_id = entry.session_id,
                        .response_id = entry.request_id,
                        .context = entry.query_embedding,
                        .adapter = entry.adapters.empty() ? "" : entry.adapters.front(),
                        .ended_ms = entry.timestamp_ms})
          .IgnoreError();
    }
    // A full queue is counted by the log and shown by `ruvd status`.
    options_.log->Append(std::move(entry), options_.clock->Now()).IgnoreError();
  }

 private:
  const WitnessActorOptions options_;
  Ref<Message> ref_;
};

}  // namespace

std::unique_ptr<RequestRecorder> StartWitnessActor(ActorSystem& system,
                                                   const WitnessActorOptions& options) {
  return std::make_unique<WitnessRecorder>(system, options);
}

}  // namespace ruvd
