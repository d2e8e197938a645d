// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/witness_actor.h"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "node/limits.h"
#include "node/log/log.h"

namespace ruvd::actors {
namespace {

// Entries that are due before the next tick get a timer of their own.
constexpr std::chrono::milliseconds kTick{250};
constexpr Duration kExpiryPeriod = std::chrono::minutes(1);
constexpr size_t kSessionsPerTick = 64;

struct Turn {
  std::string session_id;
  std::string user_id;  // empty: no user
  std::string response_id;
  std::vector<float> context;
  std::string embedded_by;
  std::string adapter;  // empty: no adapter
  int64_t ended_ms = 0;
  TimePoint ended{};
};
struct Tick {};   // every kTick
struct Flush {};  // a batch is full, or the oldest entry has waited long enough
using WitnessMessage = std::variant<Turn, Tick, Flush>;

// Set while a Flush is on its way or would be useless until the next tick: one message is enough,
// however many requests fill the queue.
using FlushFlag = std::shared_ptr<std::atomic<bool>>;

class WitnessActor final : public runtime::Actor<WitnessMessage> {
 public:
  WitnessActor(const WitnessActorOptions& options, FlushFlag flush_sent)
      : options_(options), flush_sent_(std::move(flush_sent)), wall_(*options.clock) {}

  absl::Status OnStart(Context& context) override {
    next_expiry_ = context.Now();
    return context.StartPeriodicTimer(kTick, [] { return Tick{}; }).status();
  }

  absl::Status On(Turn& turn, Context&) override {
    // A turn that waited in the mailbox while its user was erased must not create the session
    // again.
    if (options_.fence == nullptr) {
      Note(turn);
    } else {
      options_.fence->RunUnlessErased(turn.user_id, turn.ended, [&] { Note(turn); });
    }
    return absl::OkStatus();
  }

  void Note(const Turn& turn) {
    Report(kTurns, options_.sessions->Update(
                       turn.session_id, turn.ended_ms, [&](storage::SessionState* session) {
                         if (session->turn_count == 0 && !turn.user_id.empty()) {
                           session->user_id = turn.user_id;
                         }
                         if (session->user_id.value_or("") != turn.user_id) {
                           return;  // another user's session: one user's data must not be stored
                                    // under another's key
                         }
                         ++session->turn_count;
                         session->last_active_ms = turn.ended_ms;
                         session->history_reference = turn.response_id;
                         if (!turn.context.empty()) {  // else nothing was searched by the prompt
                           session->context_embedding = turn.context;
                           session->embedded_by = turn.embedded_by;
                         }
                         session->active_adapter =
                             turn.adapter.empty() ? std::nullopt : std::optional(turn.adapter);
                       }));
  }

  absl::Status On(Flush&, Context& context) override {
    Write(context);
    return absl::OkStatus();
  }

  absl::Status On(Tick&, Context& context) override {
    Write(context);
    ReportUnfit();
    const std::optional<TimePoint> due = options_.log->NextDue();
    if (due && *due > context.Now() && *due < context.Now() + kTick) {
      RETURN_IF_ERROR(context.StartTimer(*due - context.Now(), Flush{}).status());
    }
    if (context.Now() >= next_expiry_ && !Expire()) {
      next_expiry_ = context.Now() + kExpiryPeriod;
    }
    return absl::OkStatus();
  }

  absl::Status OnStop(Context&) override {
    Report(kEntries, options_.log->FlushAll());
    return absl::OkStatus();
  }

 private:
  enum Source : uint8_t { kTurns, kEntries, kOldEntries, kOldSessions, kSources };

  void Write(Context& context) {
    flush_sent_->store(false);
    const absl::Status written = options_.log->FlushDue(context.Now()).status();
    if (!written.ok()) {
      flush_sent_->store(true);  // the next tick tries again, not every request
    }
    Report(kEntries, written);
  }

  // Does one bounded step; returns true if the next tick should continue. Without a trusted clock,
  // nothing expires by age, but entries beyond the limit are still removed.
  bool Expire() {
    const std::optional<int64_t> now_ms =
        ClockTrusted() ? std::optional(options_.clock->WallMillis()) : std::nullopt;
    const absl::StatusOr<storage::WitnessExpired> entries = options_.log->ExpireBatch(now_ms);
    const absl::StatusOr<size_t> sessions =
        now_ms ? options_.sessions->ExpireBatch(*now_ms, kSessionsPerTick) : 0;
    Report(kOldEntries, entries.status());
    Report(kOldSessions, sessions.status());
    ReportCapacity();
    return (entries.ok() && entries->more) || (sessions.ok() && *sessions == kSessionsPerTick);
  }

  bool ClockTrusted() {
    const bool trusted = wall_.Trusted();
    if (wall_.step_ms() != 0) {
      LogWarning(
          "the wall clock stepped by {} s; nothing expires by its age until it has been steady for "
          "{} minutes",
          wall_.step_ms() / 1000,
          std::chrono::duration_cast<std::chrono::minutes>(WallClockTrust::kTrustedAfter).count());
    }
    return trusted;
  }

  // A store that refuses writes affects the log and the sessions, not the requests. One line per
  // source and reason until it works again: a full disk must not fill the log, too.
  void Report(Source source, const absl::Status& status) {
    std::string reason = ReasonOf(status);
    if (!status.ok() && reason != reported_[source]) {
      LogWarning("records of requests could not be stored or removed: {} [{}]", MessageOf(status),
                 reason);
    }
    reported_[source] = status.ok() ? "" : std::move(reason);
  }

  void ReportUnfit() {
    const uint64_t unfit = options_.log->counts().unfit;
    if (unfit > 0 && reported_unfit_ == 0) {
      LogWarning(
          "{} records of requests could not be stored and are lost; `ruvd status` "
          "keeps counting",
          unfit);
    }
    reported_unfit_ = unfit;
  }

  void ReportCapacity() {
    const uint64_t crowded_out = options_.log->counts().crowded_out;
    if (crowded_out > 0 && reported_crowded_out_ == 0) {
      LogWarning(
          "there are more records of requests than storage.witness_entries: {} were removed before "
          "they were storage.witness_days old; raise storage.witness_entries or lower "
          "storage.witness_days",
          crowded_out);
    }
    reported_crowded_out_ = crowded_out;
  }

  const WitnessActorOptions options_;
  const FlushFlag flush_sent_;
  WallClockTrust wall_;
  TimePoint next_expiry_{};
  std::array<std::string, kSources> reported_;
  uint64_t reported_unfit_ = 0;
  uint64_t reported_crowded_out_ = 0;
};

class WitnessRecorder final : public serving::RequestRecorder {
 public:
  WitnessRecorder(runtime::ActorSystem& system, const WitnessActorOptions& options,
                  int64_t newest_ms)
      : options_(options), time_(newest_ms) {
    runtime::SpawnOptions<WitnessMessage> spawn;
    spawn.name = "witness";
    spawn.mailbox.capacity = limits::kWitnessMailbox;
    spawn.mailbox.overflow = runtime::Overflow::kDropOldest;  // counted as dead letters
    ref_ = system.Spawn<WitnessMessage>(spawn, [options, flag = flush_sent_] {
      return std::make_unique<WitnessActor>(options, flag);
    });
  }

  void Record(storage::WitnessEntry entry) override {
    {
      const MutexLock lock(time_mutex_);
      entry.timestamp_ms = time_.Next(entry.timestamp_ms);
    }
    if (!entry.session_id.empty() && !entry.error) {
      // A node that stops takes no more turns; the next turn of the session starts it again.
      ref_.TryTell(Turn{.session_id = entry.session_id,
                        .user_id = entry.user_id,
                        .response_id = entry.request_id,
                        .context = entry.query_embedding,
                        .embedded_by = entry.embedded_by,
                        .adapter = entry.adapters.empty() ? "" : entry.adapters.front(),
                        .ended_ms = entry.timestamp_ms,
                        .ended = options_.clock->Now()})
          .IgnoreError();
    }
    const TimePoint now = options_.clock->Now();
    // Entries that the log refuses are counted and shown by `ruvd status`.
    options_.log->Append(std::move(entry), now).IgnoreError();
    const std::optional<TimePoint> due = options_.log->NextDue();
    if (due && *due <= now && !flush_sent_->exchange(true)) {
      ref_.TryTell(Flush{}).IgnoreError();  // if it is lost, the next tick does the same
    }
  }

 private:
  const WitnessActorOptions options_;
  const FlushFlag flush_sent_ = std::make_shared<std::atomic<bool>>(false);
  Mutex time_mutex_;
  MonotonicTimestamps time_ ABSL_GUARDED_BY(time_mutex_);
  runtime::Ref<WitnessMessage> ref_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<serving::RequestRecorder>> StartWitnessActor(
    runtime::ActorSystem& system, const WitnessActorOptions& options) {
  ASSIGN_OR_RETURN(const int64_t newest_ms, options.log->NewestMs());
  return std::make_unique<WitnessRecorder>(system, options, newest_ms);
}

}  // namespace ruvd::actors
