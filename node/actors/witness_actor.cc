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

// What is due before the next tick gets a timer of its own.
constexpr std::chrono::milliseconds kTick{250};
constexpr Duration kExpiryPeriod = std::chrono::minutes(1);
constexpr size_t kSessionsPerTick = 64;

struct Turn {
  std::string session_id;
  std::string user_id;  // empty: none
  std::string response_id;
  std::vector<float> context;
  std::string embedded_by;
  std::string adapter;  // empty: none
  int64_t ended_ms = 0;
  TimePoint ended{};
};
struct Tick {};   // every kTick
struct Flush {};  // a batch is full, or the oldest entry has waited long enough
using WitnessMessage = std::variant<Turn, Tick, Flush>;

// Set while a Flush is on its way, or would be in vain until the next tick: however many requests
// fill the queue, one message is enough.
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
    // What waited in the mailbox while its user was erased is not to begin the session anew.
    if (options_.fence == nullptr) {
      Note(turn);
    } else {
      options_.fence->Store(turn.user_id, turn.ended, [&] { Note(turn); });
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
                           return;  // somebody else's: nothing of one user under the key of another
                         }
                         ++session->turn_count;
                         session->last_active_ms = turn.ended_ms;
                         session->history_reference = turn.response_id;
                         session->context_embedding = turn.context;
                         session->embedded_by = turn.embedded_by;
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

  // One bounded step; true if the next tick should go on with it. Without a clock to trust nothing
  // is too old, but there may be too many entries.
  bool Expire() {
    const std::optional<int64_t> now_ms =
        ClockTrusted() ? std::optional(options_.clock->WallMillis()) : std::nullopt;
    const absl::StatusOr<storage::WitnessExpired> entries = options_.log->ExpireSome(now_ms);
    const absl::StatusOr<size_t> sessions =
        now_ms ? options_.sessions->ExpireSome(*now_ms, kSessionsPerTick) : 0;
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

  // A store that refuses writes costs the log and the sessions, not the requests. One line per
  // source and reason until it works again: a full disk must not fill the log too.
  void Report(Source source, const absl::Status& status) {
    std::string reason = ReasonOf(status);
    if (!status.ok() && reason != reported_[source]) {
      LogWarning("what requests did is not stored or not removed: {} [{}]", MessageOf(status),
                 reason);
    }
    reported_[source] = status.ok() ? "" : std::move(reason);
  }

  void ReportUnfit() {
    const uint64_t unfit = options_.log->counts().unfit;
    if (unfit > 0 && reported_unfit_ == 0) {
      LogWarning(
          "{} records of requests were not fit to be stored and are gone; `ruvd status` "
          "counts on",
          unfit);
    }
    reported_unfit_ = unfit;
  }

  void ReportCapacity() {
    const uint64_t crowded_out = options_.log->counts().crowded_out;
    if (crowded_out > 0 && reported_crowded_out_ == 0) {
      LogWarning(
          "the records of requests are more than storage.witness_entries: {} left before they "
          "were storage.witness_days old; raise the one or lower the other",
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
      // A node that stops takes no more turns; the next one of the session begins it anew.
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
    // What the log refuses it counts, and `ruvd status` shows.
    options_.log->Append(std::move(entry), now).IgnoreError();
    const std::optional<TimePoint> due = options_.log->NextDue();
    if (due && *due <= now && !flush_sent_->exchange(true)) {
      ref_.TryTell(Flush{}).IgnoreError();  // where it is lost the next tick does the same
    }
  }

 private:
  const WitnessActorOptions options_;
  const FlushFlag flush_sent_ = std::make_shared<std::atomic<bool>>(false);
  Mutex time_mutex_;
  OrderedTime time_ ABSL_GUARDED_BY(time_mutex_);
  runtime::Ref<WitnessMessage> ref_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<serving::RequestRecorder>> StartWitnessActor(
    runtime::ActorSystem& system, const WitnessActorOptions& options) {
  ASSIGN_OR_RETURN(const int64_t newest_ms, options.log->NewestMs());
  return std::make_unique<WitnessRecorder>(system, options, newest_ms);
}

}  // namespace ruvd::actors
