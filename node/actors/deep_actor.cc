// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/deep_actor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/reasons.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/reasons.h"

namespace ruvd::actors {
namespace {

struct RunDeepMessage {
  runtime::ReplyTo<learning::DeepResult> reply;
};
struct DeepStatusMessage {
  runtime::ReplyTo<learning::DeepStatus> reply;
};
struct RatedMessage {
  learning::DeepRating rating;
};
struct ErasedMessage {};
struct DeepTick {};
using DeepMessage =
    std::variant<RunDeepMessage, DeepStatusMessage, RatedMessage, ErasedMessage, DeepTick>;

// How often the actor checks whether an interrupted round may resume and whether a round is due.
constexpr Duration kResumeInterval = std::chrono::seconds(30);
// After a failure the actor waits, twice as long each time up to this limit: a full disk or a
// refused publication does not go away in half a minute, and every attempt costs as much as a
// training.
constexpr Duration kLongestWait = std::chrono::hours(1);
// A round on demand takes minutes to hours.
constexpr Duration kRoundPatience = std::chrono::hours(12);

// The result of a piece of work on the pool's thread.
struct Piece {
  std::shared_ptr<learning::DeepRound> round;  // null: the round is over
  std::optional<learning::DeepResult> result;
  absl::Status status;
  uint64_t step = 0;
  uint64_t steps = 0;
};

// Begins a round if `round` is null, trains a piece of it, and finishes it once training is
// complete.
Piece WorkOn(std::shared_ptr<learning::DeepRound> round, const learning::DeepServices& services,
             const learning::DeepOptions& options, Duration budget, Random random) {
  Piece piece{.round = std::move(round)};
  if (piece.round == nullptr) {
    auto begun = learning::DeepRound::Begin(services, options, random);
    piece.status = begun.status();
    if (!begun.ok()) {
      return piece;
    }
    piece.round = *std::move(begun);
  }
  const absl::StatusOr<bool> trained = piece.round->Work(budget);
  piece.status = trained.status();
  piece.step = piece.round->step();
  piece.steps = piece.round->steps();
  if (trained.ok() && *trained) {
    absl::StatusOr<learning::DeepResult> result = piece.round->Finish();
    piece.status = result.status();
    if (result.ok()) {
      piece.result = *std::move(result);
    }
  }
  if (!piece.status.ok() || piece.result) {
    piece.round = nullptr;
  }
  return piece;
}

class DeepActorCell final : public runtime::Actor<DeepMessage> {
 public:
  explicit DeepActorCell(const DeepActorOptions& options) : options_(options) {}

  absl::Status OnStart(Context& context) override {
    RETURN_IF_ERROR(options_.services.learning.trajectories->ForEachSince(
        0, [&](const storage::Trajectory& trajectory) {
          if (const auto rating = learning::RatingOf(trajectory)) {
            ratings_.Add(*rating);
          }
          return true;
        }));
    ReadLastRound();
    RETURN_IF_ERROR(
        context.StartPeriodicTimer(kResumeInterval, [] { return DeepTick{}; }).status());
    RETURN_IF_ERROR(SweepMemories(context));  // users may have been erased while the node was down
    DeepTick tick;
    return On(tick, context);
  }

  absl::Status On(RunDeepMessage& message, Context& context) override {
    const absl::StatusOr<bool> may = MayLearn();
    if (!may.ok() || !*may) {
      message.reply.Send(
          may.ok() ? Error(absl::StatusCode::kFailedPrecondition, reasons::kLearningPaused,
                           "no deep round starts, because learning is paused or off; "
                           "run `ruvd learn resume` or set learning.enabled")
                   : may.status());
      return absl::OkStatus();
    }
    waiting_.push_back(message.reply);
    return Start(context, true);
  }
  absl::Status On(DeepStatusMessage& message, Context&) override {
    message.reply.Send(learning::DeepStatus{
        .running = running_,
        .step = step_,
        .steps = steps_,
        .served_version = serving::ServedDeepVersion(*options_.services.catalog),
        .last = last_});
    return absl::OkStatus();
  }
  absl::Status On(RatedMessage& message, Context&) override {
    ratings_.Add(message.rating);
    RollBackWhereItRegressed();
    return absl::OkStatus();
  }
  absl::Status On(ErasedMessage&, Context& context) override { return SweepMemories(context); }
  // A round that was interrupted by a kill, a stop or a pause has left its checkpoint.
  absl::Status On(DeepTick&, Context& context) override {
    if (running_ || options_.services.learning.clock->Now() < not_before_) {
      return absl::OkStatus();
    }
    const bool wanted =
        IsDue() ||
        options_.services.state->Contains(storage::state::DeepCheckpoint()).value_or(false);
    const absl::StatusOr<bool> may = wanted ? MayLearn() : false;
    return may.ok() && *may ? Start(context, false) : absl::OkStatus();
  }

 private:
  absl::StatusOr<bool> MayLearn() const {
    if (!options_.enabled) {
      return false;
    }
    const storage::ChangeStore* const changes = options_.services.learning.changes;
    if (changes == nullptr) {
      return true;
    }
    ASSIGN_OR_RETURN(const bool paused, changes->IsPaused());
    return !paused;
  }

  // The schedule continues across restarts: otherwise a node that is restarted daily would never be
  // due.
  bool Scheduled() const { return options_.enabled && options_.interval > Duration(0); }
  void ReadLastRound() {
    if (!Scheduled()) {
      return;
    }
    started_ = options_.services.learning.clock->Now();
    const auto schedule = options_.services.state->Get(storage::state::DeepSchedule());
    if (schedule.ok() && schedule->has_value() && (*schedule)->last_round_ms() >= 0) {
      last_round_ms_ = (*schedule)->last_round_ms();
      return;
    }
    if (!schedule.ok() || schedule->has_value()) {
      LogWarning(
          "the time of the last deep round cannot be read; the next round is due "
          "learning.deep_hours from now: {}",
          schedule.ok() ? "it is negative" : MessageOf(schedule.status()));
    }
    KeepLastRound();
  }
  void KeepLastRound() {
    started_ = options_.services.learning.clock->Now();
    last_round_ms_ = options_.services.learning.clock->WallMillis();
    if (!Scheduled()) {
      return;
    }
    storage::v1::DeepSchedule schedule;
    schedule.set_last_round_ms(last_round_ms_);
    const absl::Status kept =
        options_.services.state->Put(storage::state::DeepSchedule(), schedule);
    if (!kept.ok()) {
      LogWarning("the time of the deep round cannot be saved, so a restart forgets it: {}",
                 MessageOf(kept));
    }
  }
  // A wall clock before the last round, as on a board that has just booted, cannot be used; then
  // the interval counts from the start of the process.
  bool IsDue() const {
    const Clock& clock = *options_.services.learning.clock;
    const int64_t since = clock.WallMillis() - last_round_ms_;
    return Scheduled() && (since >= 0 ? std::chrono::milliseconds(since) >= options_.interval
                                      : clock.Now() - started_ >= options_.interval);
  }

  absl::Status SweepMemories(Context& context) {
    return context.Offload(
        *options_.pool, [services = options_.services] { learning::SweepDeepMemories(services); },
        [](Context&) { return absl::OkStatus(); });
  }

  absl::Status Start(Context& context, bool on_demand) {
    if (running_) {
      return absl::OkStatus();
    }
    running_ = true;
    on_demand_ = on_demand;
    return Continue(context);
  }

  absl::Status Continue(Context& context) {
    learning::DeepServices services = options_.services;
    services.learning.on_demand = on_demand_;
    learning::LearningThrottle* const throttle = options_.throttle;
    services.learning.cancelled = [changes = services.learning.changes,
                                   stopped = services.learning.cancelled] {
      return (stopped && stopped()) || (changes != nullptr && changes->IsPaused().value_or(false));
    };
    if (throttle != nullptr) {
      services.learning.between_slices = [throttle,
                                          cancelled = services.learning.cancelled](uint64_t bytes) {
        return throttle->Wait(storage::LearningLoop::kDeep, bytes, cancelled);
      };
    }
    auto piece = std::make_shared<Piece>(Piece{.round = std::exchange(round_, nullptr)});
    const auto random = std::make_shared<Random>(context.Rng().Fork());
    return context.Offload(
        *options_.pool,
        [services = std::move(services), options = options_.round, budget = options_.piece, piece,
         random, throttle] {
          std::optional<learning::LearningThrottle::ScopedLearning> working;
          if (throttle != nullptr) {
            working.emplace(*throttle);
          }
          *piece = WorkOn(std::move(piece->round), services, options, budget, *random);
        },
        [this, piece](Context& own) {
          step_ = piece->step;
          steps_ = piece->steps;
          if (piece->round != nullptr) {
            round_ = std::move(piece->round);
            return Continue(own);
          }
          End(*piece);
          return absl::OkStatus();
        });
  }

  void End(const Piece& piece) {
    running_ = false;
    step_ = steps_ = 0;
    if (options_.throttle != nullptr) {
      options_.throttle->RoundEnded(storage::LearningLoop::kDeep);
    }
    SetWait(piece);
    if (piece.result) {
      last_ = piece.result;
      KeepLastRound();
      LogInfo(
          "a deep round of {} lesson(s) ended: {}, held-out {:.4f} -> {:.4f} (standard error "
          "{:.4f}), general text {:.4f} -> {:.4f} nats/token",
          piece.result->lessons, learning::DeepOutcomeName(piece.result->outcome),
          piece.result->held_out_before, piece.result->held_out_after, piece.result->standard_error,
          piece.result->general_before, piece.result->general_after);
      reported_.clear();
    } else if (std::string reason = ReasonOf(piece.status);
               !absl::IsCancelled(piece.status) && (on_demand_ || reason != reported_)) {
      // A failure is logged once, however often the round is tried again.
      LogError("a deep round failed: {} [{}]", MessageOf(piece.status), reason);
      reported_ = std::move(reason);
    }
    for (const runtime::ReplyTo<learning::DeepResult>& reply : std::exchange(waiting_, {})) {
      reply.Send(piece.result ? absl::StatusOr<learning::DeepResult>(*piece.result) : piece.status);
    }
  }

  void SetWait(const Piece& piece) {
    if (piece.result || absl::IsCancelled(piece.status)) {
      wait_ = kResumeInterval;
    } else {
      not_before_ = options_.services.learning.clock->Now() + wait_;
      wait_ = std::min(2 * wait_, kLongestWait);
    }
  }

  void RollBackWhereItRegressed() {
    const uint32_t served = serving::ServedDeepVersion(*options_.services.catalog);
    storage::ChangeStore* const changes = options_.services.learning.changes;
    if (served == 0 || changes == nullptr) {
      return;
    }
    const auto list = changes->List(limits::kMaxChanges);
    if (!list.ok()) {
      return;
    }
    const auto change =
        std::ranges::find_if(*list, [served](const storage::LearningChange& candidate) {
          return candidate.kind == storage::ChangeKind::kAdapterPublished &&
                 candidate.version == served && candidate.undone_ms == 0;
        });
    if (change == list->end() || !ratings_.HasRegressed(served, change->version_before)) {
      return;
    }
    absl::Status undone = WithdrawDeep(*options_.services.catalog, *change);
    if (undone.ok()) {
      undone = changes->SetUndone(change->number, options_.services.learning.clock->WallMillis());
    }
    if (undone.ok()) {
      LogWarning("deep@{} was rated worse than what was served before it, so it is taken back",
                 served);
    } else {
      LogError("deep@{} was rated worse than what was served before it, but it stays: {}", served,
               MessageOf(undone));
    }
  }

  const DeepActorOptions options_;
  learning::DeepRatings ratings_;
  std::shared_ptr<learning::DeepRound> round_;
  std::vector<runtime::ReplyTo<learning::DeepResult>> waiting_;
  std::optional<learning::DeepResult> last_;
  bool running_ = false;
  bool on_demand_ = false;
  uint64_t step_ = 0;
  uint64_t steps_ = 0;
  std::string reported_;  // reason of the last reported failure
  Duration wait_ = kResumeInterval;
  TimePoint not_before_{};     // earliest time to retry after a failure
  int64_t last_round_ms_ = 0;  // wall clock; or when the schedule began
  TimePoint started_{};        // of this process or of the last round
};

class DeepActorImpl final : public learning::DeepActor {
 public:
  DeepActorImpl(runtime::ActorSystem& system, const DeepActorOptions& options)
      : clock_(*options.services.learning.clock) {
    runtime::SpawnOptions<DeepMessage> spawn;
    spawn.name = "deep";
    spawn.mailbox.capacity = limits::kLearningMailbox;
    ref_ = system.Spawn<DeepMessage>(
        spawn, [options] { return std::make_unique<DeepActorCell>(options); });
  }
  void Run(Done<learning::DeepResult> done) override {
    ref_.Ask<learning::DeepResult>(
        [](runtime::ReplyTo<learning::DeepResult> reply) {
          return RunDeepMessage{std::move(reply)};
        },
        clock_.Now() + kRoundPatience, std::move(done));
  }
  void GetStatus(Done<learning::DeepStatus> done) override {
    ref_.Ask<learning::DeepStatus>(
        [](runtime::ReplyTo<learning::DeepStatus> reply) {
          return DeepStatusMessage{std::move(reply)};
        },
        clock_.Now() + std::chrono::minutes(1), std::move(done));
  }
  void OnRated(learning::DeepRating rating) override {
    // A rating that is lost because the mailbox is full is found again at the next start.
    ref_.TryTell(RatedMessage{std::move(rating)}).IgnoreError();
  }
  void OnLessonsWithdrawn() override {
    // If the message is lost because the mailbox is full, the next round or start sweeps.
    ref_.TryTell(ErasedMessage{}).IgnoreError();
  }

 private:
  const Clock& clock_;
  runtime::Ref<DeepMessage> ref_;
};

}  // namespace

std::unique_ptr<learning::DeepActor> StartDeepActor(runtime::ActorSystem& system,
                                                    const DeepActorOptions& options) {
  return std::make_unique<DeepActorImpl>(system, options);
}

absl::Status WithdrawDeep(serving::AdapterCatalog& catalog, const storage::LearningChange& change) {
  const uint32_t served = serving::ServedDeepVersion(catalog);
  if (served > change.version) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kCannotUndo,
                 "{0}@{1} was trained from {0}@{2}; undo {0}@{1} first", change.adapter_name,
                 served, change.version);
  }
  const absl::Status unloaded = catalog.Unload(change.adapter_name, change.version).status();
  if (absl::IsNotFound(unloaded)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kCannotUndo,
                 "{}@{} is no longer served, because it was unloaded", change.adapter_name,
                 change.version);
  }
  RETURN_IF_ERROR(unloaded);
  // The registry would serve the highest remaining version, which may have been rolled back before.
  if (served == change.version && change.version_before != 0 &&
      catalog.Find(change.adapter_name, change.version_before).ok()) {
    return catalog.Rollback(change.adapter_name, change.version_before).status();
  }
  return absl::OkStatus();
}

}  // namespace ruvd::actors
