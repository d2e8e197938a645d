// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/background_actor.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/actors/background_round_answers.h"
#include "node/actors/background_round_waiters.h"
#include "node/learning/feedback_intake.h"
#include "node/learning/learning_undo.h"
#include "node/learning/lesson_clusters.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/reasons.h"
#include "node/serving/served_adapters.h"

namespace ruvd::actors {
namespace {

class BackgroundActor final : public runtime::Actor<BackgroundMessage> {
 public:
  explicit BackgroundActor(const LearningActorOptions& options)
      : options_(options),
        feedback_({.clock = options.services.clock,
                   .model = &options.services.transformer->model(),
                   .trajectories = options.services.trajectories,
                   .changes = options.services.changes,
                   .answers = options.answers,
                   .witness = options.witness,
                   .instant = options.instant,
                   .graph = options.graph,
                   .memory_rating = options.memory_rating}) {}

  absl::Status OnStart(Context& context) override {
    if (options_.services.changes != nullptr) {
      ASSIGN_OR_RETURN(const bool paused, options_.services.changes->IsPaused());
      paused_->store(paused);
    }
    if (options_.router != nullptr) {
      options_.router->SetLearning(learning());
    }
    if (options_.enabled) {
      ASSIGN_OR_RETURN(fresh_, FindLessons(false));
    }
    return context.StartPeriodicTimer(options_.round_after_age, [] { return AgeCheck{}; }).status();
  }

  absl::Status On(FeedbackMessage& message, Context& context) override;
  absl::Status On(UndoMessage& message, Context& context) override;
  absl::Status On(ListMessage& message, Context& context) override;
  absl::Status On(PauseMessage& message, Context& context) override;
  absl::Status On(StatusMessage& message, Context& context) override;
  absl::Status On(RunMessage& message, Context& context) override;
  absl::Status On(AgeCheck&, Context& context) override {
    return fresh_.empty() && !DeepChanged() && !RouterIsDue() ? absl::OkStatus()
                                                              : MaybeStartRound(context);
  }

 private:
  bool RouterIsDue() const { return options_.router != nullptr && options_.router->due(); }
  bool learning() const { return options_.enabled && !paused_->load(); }
  absl::StatusOr<std::set<std::string>> FindLessons(bool replay) const;
  // Returns whether the served version of the deep adapter differs from the one when a round last
  // looked for stale patterns. True after a start.
  bool DeepChanged() const {
    const serving::AdapterCatalog* const catalog = options_.services.catalog;
    return options_.enabled && catalog != nullptr &&
           looked_at_ != serving::ServedDeepVersion(*catalog);
  }
  std::string WhyNotNow() const;
  absl::Status NoRoundStarts() const {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kLearningPaused,
                 "no round starts: {}", WhyNotNow());
  }
  // Answers a feedback that does not wait for a round.
  void Answer(const FeedbackMessage& message, const learning::StoredFeedback& taken,
              TimePoint received, TimePoint now, std::string explanation);
  void LeaveOutUndone(const storage::LearningChange& change);
  bool IsForgotten(const storage::LearningChange& change) const;
  absl::Status MaybeStartRound(Context& context);
  absl::Status StartRound(Context& context);
  absl::Status EndRound(const BackgroundRoundResults& result, TimePoint begun, Context& context);
  void Report(const learning::BackgroundRound& round) const;
  // Returns what feedback is told if a pause ended the round that it waited for; empty if learning
  // is not paused.
  std::string PausedText() const { return paused_->load() ? WhyNotNow() : ""; }
  void SendAway(const BackgroundRoundWaiters& waiters, TimePoint now);
  learning::LearningStatus StatusNow() const;

  const LearningActorOptions options_;
  const learning::FeedbackServices feedback_;
  // Setting it to true also ends a running round.
  const std::shared_ptr<std::atomic<bool>> paused_ = std::make_shared<std::atomic<bool>>(false);
  std::set<std::string> fresh_;
  BackgroundRoundWaiters waiting_;
  std::shared_ptr<BackgroundRoundWaiters>
      running_;  // waiters of the running round; null: no round runs
  int rated_ = 0;
  uint64_t rounds_ = 0;
  std::optional<uint32_t>
      looked_at_;  // the deep version served when a round last looked for stale patterns
};

// Returns the lessons that no round has taken, because of a stop or a crash, or because another
// model learned them. With `replay`, returns all that teach something and are not forgotten.
absl::StatusOr<std::set<std::string>> BackgroundActor::FindLessons(bool replay) const {
  std::set<std::string> lessons;
  RETURN_IF_ERROR(
      options_.services.trajectories->ForEachSince(0, [&](const storage::Trajectory& trajectory) {
        if ((replay || trajectory.learned_by != AsText(options_.services.package_id)) &&
            !learning::TargetText(trajectory, options_.round.min_rating).empty() &&
            !learning::IsExcludedFromLearning(options_.services, trajectory)) {
          lessons.insert(trajectory.response_id);
        }
        return true;
      }));
  return lessons;
}

std::string BackgroundActor::WhyNotNow() const {
  return options_.enabled ? "recorded; learning is paused until `ruvd learn resume`"
                          : "recorded; " + options_.disabled_because;
}

absl::Status BackgroundActor::On(FeedbackMessage& message, Context& context) {
  const TimePoint received = context.Now();
  const learning::Feedback& feedback = message.feedback;
  const std::string key = learning::IdempotencyKeyOf(feedback);
  const auto known = learning::FindAnswer(feedback_, key);
  if (!known.ok() || known->has_value()) {
    message.reply.Send(known.ok() ? absl::StatusOr<learning::FeedbackAnswer>(**known)
                                  : known.status());
    return absl::OkStatus();
  }
  if (waiting_.Join(key, message.reply) ||
      (running_ != nullptr && running_->Join(key, message.reply))) {
    return absl::OkStatus();
  }
  absl::StatusOr<learning::StoredFeedback> taken =
      learning::StoreFeedback(feedback_, feedback, !paused_->load());
  if (!taken.ok()) {
    message.reply.Send(taken.status());
    return absl::OkStatus();
  }
  if (options_.on_feedback) {
    options_.on_feedback(taken->trajectory);
  }
  if (options_.router != nullptr) {
    options_.router->OnFeedback(taken->trajectory);
  }
  const bool teaches = !learning::TargetText(taken->trajectory, options_.round.min_rating).empty();
  if (teaches && options_.enabled) {
    fresh_.insert(feedback.response_id);
  }
  const bool weak = feedback.rating.has_value() || feedback.copied || feedback.regenerated;
  if (!learning() || !teaches) {
    Answer(message, *taken, received, context.Now(),
           !learning() ? WhyNotNow()
                       : "recorded; a completion that was not liked teaches no text, "
                         "send an edited_text to teach one");
    return absl::OkStatus();
  }
  if (weak) {  // learned together with others
    Answer(message, *taken, received, context.Now(),
           fmt::format(
               "recorded; the next round learns it, after {} rated completions or {} s",
               options_.round_after_requests,
               std::chrono::duration_cast<std::chrono::seconds>(options_.round_after_age).count()));
    ++rated_;
    return rated_ >= options_.round_after_requests ? MaybeStartRound(context) : absl::OkStatus();
  }
  if (waiting_.feedback.size() >= limits::kLearningMailbox) {
    Answer(message, *taken, received, context.Now(),
           "recorded; many lessons wait for the running round, so a later one learns this");
    return MaybeStartRound(context);
  }
  waiting_.feedback.push_back({.response_id = feedback.response_id,
                               .answer_key = key,
                               .replies = {message.reply},
                               .taken = *std::move(taken),
                               .received = received});
  options_.metrics->FeedbackReceived(learning::SignalName(feedback), true);
  return MaybeStartRound(context);
}

void BackgroundActor::Answer(const FeedbackMessage& message, const learning::StoredFeedback& taken,
                             TimePoint received, TimePoint now, std::string explanation) {
  learning::FeedbackAnswer answer;
  answer.explanation = std::move(explanation);
  answer.session_lessons = taken.session_lessons;
  if (taken.session_lessons > 0) {
    answer.learned_in_ms = ElapsedMillis(received, now);
  }
  if (taken.change) {
    answer.changes.push_back(*taken.change);
  }
  learning::StoreAnswer(feedback_, learning::IdempotencyKeyOf(message.feedback), answer);
  options_.metrics->FeedbackReceived(learning::SignalName(message.feedback), false);
  message.reply.Send(answer);
}

// Removes undone responses from the next round. Feedback that is newer than the change is still
// learned.
void BackgroundActor::LeaveOutUndone(const storage::LearningChange& change) {
  for (const std::string& response : change.responses) {
    const auto trajectory = options_.services.trajectories->Get(response);
    if (trajectory.ok() ? learning::IsExcludedFromLearning(options_.services, *trajectory)
                        : absl::IsNotFound(trajectory.status())) {
      fresh_.erase(response);
    }
  }
}

absl::Status BackgroundActor::On(UndoMessage& message, Context&) {
  storage::ChangeStore* const changes = options_.services.changes;
  if (changes == nullptr) {
    message.reply.Send(Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                             "this node keeps no list of changes, so nothing can be undone"));
    return absl::OkStatus();
  }
  const learning::UndoServices services{.clock = options_.services.clock,
                                        .changes = changes,
                                        .patterns = options_.services.patterns,
                                        .trajectories = options_.services.trajectories,
                                        .instant = options_.instant,
                                        .package_id = options_.services.package_id,
                                        .withdraw = options_.withdraw,
                                        .router = options_.router,
                                        .graph = options_.graph};
  absl::StatusOr<storage::LearningChange> change = changes->Find(message.token);
  if (change.ok()) {
    change = learning::UndoChange(services, *change);
  }
  if (change.ok()) {
    LeaveOutUndone(*change);
    if (change->pattern) {
      options_.on_pattern(*change->pattern);
    }
    if (options_.on_undone) {
      options_.on_undone(*change);
    }
  }
  message.reply.Send(std::move(change));
  return absl::OkStatus();
}

// Returns whether a session forgot what it was taught, or what a completion taught the memory was
// undone or learned by a pattern, whose change undoes both.
bool BackgroundActor::IsForgotten(const storage::LearningChange& change) const {
  if (change.kind == storage::ChangeKind::kSessionTaught) {
    return options_.instant == nullptr || change.responses.empty() ||
           !options_.instant->HasLessonsOf({change.user_id, change.session_id},
                                           change.responses.front());
  }
  if (change.kind == storage::ChangeKind::kLessonRemembered) {
    const auto trajectory = change.responses.empty()
                                ? absl::NotFoundError("")
                                : options_.services.trajectories->Get(change.responses.front());
    return !trajectory.ok() || trajectory->learned_in;
  }
  return false;
}

absl::Status BackgroundActor::On(ListMessage& message, Context&) {
  storage::ChangeStore* const changes = options_.services.changes;
  absl::StatusOr<std::vector<storage::LearningChange>> list =
      changes == nullptr ? std::vector<storage::LearningChange>() : changes->List(message.count);
  if (list.ok()) {
    for (storage::LearningChange& change : *list) {
      change.forgotten = IsForgotten(change);
    }
  }
  message.reply.Send(std::move(list));
  return absl::OkStatus();
}

absl::Status BackgroundActor::On(PauseMessage& message, Context& context) {
  if (options_.services.changes != nullptr) {
    const absl::Status stored = options_.services.changes->SetPaused(message.paused);
    if (!stored.ok()) {
      message.reply.Send(stored);
      return absl::OkStatus();
    }
  }
  paused_->store(message.paused);
  if (options_.router != nullptr) {
    options_.router->SetLearning(learning());
  }
  LogInfo("learning is {}", message.paused ? "paused" : "resumed");
  message.reply.Send(StatusNow());
  return fresh_.empty() ? absl::OkStatus() : MaybeStartRound(context);
}

absl::Status BackgroundActor::On(StatusMessage& message, Context&) {
  message.reply.Send(StatusNow());
  return absl::OkStatus();
}

learning::LearningStatus BackgroundActor::StatusNow() const {
  const storage::ChangeStore* const changes = options_.services.changes;
  return {
      .enabled = options_.enabled,
      .paused = paused_->load(),
      .round_running = running_ != nullptr,
      .lessons_waiting = static_cast<uint32_t>(fresh_.size()),
      .rounds = rounds_,
      .changes = changes == nullptr ? 0 : static_cast<uint32_t>(changes->size()),
      .throttle = options_.throttle == nullptr ? learning::LearningThrottleStatus{}
                                               : options_.throttle->status(),
      .router = options_.router == nullptr ? learning::RouterStatus{} : options_.router->status()};
}

absl::Status BackgroundActor::On(RunMessage& message, Context& context) {
  if (!learning()) {
    message.reply.Send(NoRoundStarts());
    return absl::OkStatus();
  }
  if (message.replay) {
    absl::StatusOr<std::set<std::string>> all = FindLessons(true);
    if (!all.ok()) {
      message.reply.Send(all.status());
      return absl::OkStatus();
    }
    fresh_.merge(*all);
  }
  waiting_.operators.push_back(message.reply);
  return MaybeStartRound(context);
}

// Feedback that arrives while a round runs starts the next one.
absl::Status BackgroundActor::MaybeStartRound(Context& context) {
  return running_ != nullptr || !learning() ? absl::OkStatus() : StartRound(context);
}

absl::Status BackgroundActor::StartRound(Context& context) {
  rated_ = 0;
  auto fresh = std::make_shared<learning::FreshLessons>(learning::FreshLessons{
      .responses = std::exchange(fresh_, {}), .stale_patterns = DeepChanged()});
  const serving::AdapterCatalog* const catalog = options_.services.catalog;
  const uint32_t served = catalog == nullptr ? 0 : serving::ServedDeepVersion(*catalog);
  running_ = std::make_shared<BackgroundRoundWaiters>(std::exchange(waiting_, {}));
  auto result = std::make_shared<BackgroundRoundResults>();
  auto random = std::make_shared<Random>(context.Rng().Fork());
  learning::LearningServices services = options_.services;
  services.on_demand = !running_->operators.empty();
  services.cancelled = [paused = paused_, stopped = options_.services.cancelled] {
    return paused->load() || (stopped && stopped());
  };
  learning::LearningThrottle* const throttle = options_.throttle;
  if (throttle != nullptr) {
    services.between_slices = [throttle, cancelled = services.cancelled](uint64_t bytes) {
      return throttle->Wait(storage::LearningLoop::kBackground, bytes, cancelled);
    };
  }
  learning::RouterLearner* const router =
      RouterIsDue() || services.on_demand ? options_.router : nullptr;
  const TimePoint begun = context.Now();
  return context.Offload(
      *options_.pool,
      // The work refers to nothing in this actor, because it outlives the actor after a forced
      // stop.
      [services = std::move(services), round = options_.round, fresh, result, random, throttle,
       router] {
        std::optional<learning::LearningThrottle::ScopedLearning> working;
        if (throttle != nullptr) {
          working.emplace(*throttle);
        }
        if (!fresh->responses.empty() || fresh->stale_patterns) {
          result->patterns = learning::RunBackgroundRound(services, round, *fresh, *random);
        }
        if (router != nullptr) {
          result->router = router->Train(services, *random);
        }
        if (throttle != nullptr) {
          throttle->RoundEnded(storage::LearningLoop::kBackground);
        }
      },
      [this, result, begun, served](Context& own) {
        if (result->patterns.status.ok()) {
          looked_at_ = served;
        }
        return EndRound(*result, begun, own);
      });
}

absl::Status BackgroundActor::EndRound(const BackgroundRoundResults& result, TimePoint begun,
                                       Context& context) {
  const auto waiters = std::exchange(running_, nullptr);
  ++rounds_;
  const double seconds = std::chrono::duration<double>(context.Now() - begun).count();
  options_.metrics->LearningRound(seconds);
  fresh_.insert(result.patterns.waiting.begin(), result.patterns.waiting.end());
  Report(result.patterns);
  if (result.router) {
    LogRouterRound(*result.router);
  }
  AnswerWaiters(result, *waiters, feedback_,
                {.seconds = seconds, .at = context.Now(), .paused = PausedText()});
  // Without waiters, the remaining lessons wait for the next AgeCheck, because a failure may last.
  const bool waited_for = !waiting_.feedback.empty() || !waiting_.operators.empty();
  if (waited_for && !learning()) {
    SendAway(std::exchange(waiting_, {}), context.Now());
    return absl::OkStatus();
  }
  return waited_for ? MaybeStartRound(context) : absl::OkStatus();
}

void BackgroundActor::Report(const learning::BackgroundRound& round) const {
  if (!round.status.ok() && !absl::IsCancelled(round.status)) {
    LogError("a round of learning ended early: {} [{}]", MessageOf(round.status),
             ReasonOf(round.status));
  }
  for (const learning::LearnedPattern& pattern : round.patterns) {
    if (pattern.change) {
      options_.on_pattern(pattern.id);
    } else if (pattern.outcome == learning::ClusterOutcome::kFailed &&
               !absl::IsCancelled(pattern.failure)) {
      LogError("{} lesson(s) wait for the next round: {} [{}]", pattern.responses.size(),
               MessageOf(pattern.failure), ReasonOf(pattern.failure));
    }
  }
  for (const learning::MergedPattern& merged : round.merged) {
    options_.on_pattern(merged.kept);
    options_.on_pattern(merged.gone);
  }
}

// Answers those who came while a pause ended the running round, because no other round follows.
void BackgroundActor::SendAway(const BackgroundRoundWaiters& waiters, TimePoint now) {
  BackgroundRoundResults none;
  none.patterns.status = Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                               "learning was paused before the round began");
  AnswerWaiters(none, {.feedback = waiters.feedback, .operators = {}}, feedback_,
                {.seconds = 0, .at = now, .paused = PausedText()});
  for (const runtime::ReplyTo<learning::BackgroundRoundSummary>& reply : waiters.operators) {
    reply.Send(NoRoundStarts());
  }
}

}  // namespace

std::unique_ptr<runtime::Actor<BackgroundMessage>> MakeBackgroundActor(
    const LearningActorOptions& options) {
  return std::make_unique<BackgroundActor>(options);
}

}  // namespace ruvd::actors
