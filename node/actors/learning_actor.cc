// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/learning_actor.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"

namespace ruvd {
namespace {

struct FeedbackMessage {
  Feedback feedback;
  ReplyTo<FeedbackAnswer> reply;
  uint32_t session_lessons = 0;
};
struct AgeCheck {};
using Message = std::variant<FeedbackMessage, AgeCheck>;

// A feedback that waits for the round it is learned in.
struct Waiter {
  std::string response_id;
  std::string idempotency_key;
  ReplyTo<FeedbackAnswer> reply;
  uint32_t session_lessons = 0;
};

std::string_view SignalName(const Feedback& feedback) {
  return feedback.edited_text.has_value() ? "edit"
         : feedback.accepted.has_value()  ? "accept"
                                          : "rating";
}

// Answers of repeated idempotency keys, oldest forgotten first.
class AnswerMemory {
 public:
  std::optional<FeedbackAnswer> Find(const std::string& key) const {
    auto found = answers_.find(key);
    return key.empty() || found == answers_.end() ? std::nullopt : std::optional(found->second);
  }
  void Remember(const std::string& key, const FeedbackAnswer& answer) {
    if (key.empty() || !answers_.emplace(key, answer).second) {
      return;
    }
    order_.push_back(key);
    if (order_.size() > limits::kMaxRememberedAnswers) {
      answers_.erase(order_.front());
      order_.pop_front();
    }
  }

 private:
  std::map<std::string, FeedbackAnswer> answers_;
  std::deque<std::string> order_;
};

class BackgroundActor final : public Actor<Message> {
 public:
  explicit BackgroundActor(const LearningActorOptions& options) : options_(options) {}

  absl::Status OnStart(Context& context) override {
    if (options_.enabled) {
      ASSIGN_OR_RETURN(fresh_, FindUnlearned());
    }
    return context.StartPeriodicTimer(options_.round_after_age, [] { return AgeCheck{}; }).status();
  }

  absl::Status On(FeedbackMessage& message, Context& context) override {
    if (auto known = memory_.Find(message.feedback.idempotency_key)) {
      message.reply.Send(*known);
      return absl::OkStatus();
    }
    absl::StatusOr<Trajectory> trajectory = Record(message.feedback);
    if (!trajectory.ok()) {
      message.reply.Send(trajectory.status());
      return absl::OkStatus();
    }
    message.session_lessons = TeachSession(message.feedback);
    if (!options_.enabled || WantedText(*trajectory, options_.round.min_rating).empty()) {
      Answer(message, options_.enabled ? "recorded; a completion rated low teaches no text of its "
                                         "own, send an edited_text to teach one"
                                       : "recorded; learning.enabled is off");
      return absl::OkStatus();
    }
    fresh_.insert(message.feedback.response_id);
    if (message.feedback.rating.has_value()) {  // alone a weak signal: learned with others
      Answer(
          message,
          fmt::format(
              "recorded; learned with the next round, after {} rated "
              "completions or {} s",
              options_.round_after_requests,
              std::chrono::duration_cast<std::chrono::seconds>(options_.round_after_age).count()));
      ++rated_;
      return rated_ >= options_.round_after_requests ? MaybeStartRound(context) : absl::OkStatus();
    }
    if (waiting_.size() >= limits::kLearningMailbox) {
      Answer(message, "recorded; many wait for the running round, a later one learns it");
      return MaybeStartRound(context);
    }
    waiting_.push_back({message.feedback.response_id, message.feedback.idempotency_key,
                        message.reply, message.session_lessons});
    options_.metrics->FeedbackReceived(SignalName(message.feedback), true);
    return MaybeStartRound(context);
  }

  absl::Status On(AgeCheck&, Context& context) override {
    return fresh_.empty() ? absl::OkStatus() : MaybeStartRound(context);
  }

 private:
  // Stores the signal with its trajectory: it survives a crash from here on.
  absl::StatusOr<Trajectory> Record(const Feedback& feedback) {
    RETURN_IF_ERROR(options_.services.trajectories->SetFeedback(
        feedback.response_id, {.rating = feedback.rating,
                               .edited_text = feedback.edited_text,
                               .accepted = feedback.accepted}));
    NoteQuality(feedback);
    return options_.services.trajectories->Get(feedback.response_id);
  }

  // The instant loop. Takes microseconds; its session need not remember the response any more.
  uint32_t TeachSession(const Feedback& feedback) {
    if (options_.instant == nullptr) {
      return 0;
    }
    const Tokenizer& tokenizer = options_.services.transformer->model().tokenizer();
    const absl::StatusOr<size_t> lessons =
        feedback.edited_text.has_value()
            ? options_.instant->LearnEdit(feedback.response_id,
                                          tokenizer.EncodeContinuation(*feedback.edited_text))
            : options_.instant->LearnReward(
                  feedback.response_id,
                  feedback.rating.value_or(feedback.accepted.value_or(false) ? 1.0F : 0.0F));
    return static_cast<uint32_t>(lessons.value_or(0));
  }

  // A rating is the quality of the request in the witness log. An entry may have expired.
  void NoteQuality(const Feedback& feedback) {
    if (options_.witness == nullptr || !(feedback.rating || feedback.accepted)) {
      return;
    }
    const float quality = feedback.rating.value_or(feedback.accepted.value_or(false) ? 1 : 0);
    const absl::Status noted = options_.witness->SetQuality(feedback.response_id, quality);
    if (!noted.ok() && !absl::IsNotFound(noted)) {
      spdlog::warn("the quality of {} is not noted: {}", feedback.response_id, MessageOf(noted));
    }
  }

  // What no round has taken: a stop or a crash may have kept it from being learned, or it was
  // another model that learned it.
  absl::StatusOr<std::set<std::string>> FindUnlearned() const {
    std::set<std::string> unlearned;
    RETURN_IF_ERROR(
        options_.services.trajectories->ForEachSince(0, [&](const Trajectory& trajectory) {
          if (trajectory.learned_by != AsText(options_.services.package_id) &&
              !WantedText(trajectory, options_.round.min_rating).empty()) {
            unlearned.insert(trajectory.response_id);
          }
          return true;
        }));
    return unlearned;
  }

  void Answer(const FeedbackMessage& message, std::string explanation) {
    FeedbackAnswer answer;
    answer.explanation = std::move(explanation);
    answer.session_lessons = message.session_lessons;
    memory_.Remember(message.feedback.idempotency_key, answer);
    options_.metrics->FeedbackReceived(SignalName(message.feedback), false);
    message.reply.Send(answer);
  }

  absl::Status MaybeStartRound(Context& context) {
    if (round_running_) {
      return absl::OkStatus();  // what arrived meanwhile starts the next one
    }
    round_running_ = true;
    rated_ = 0;
    auto fresh = std::make_shared<std::set<std::string>>(std::move(fresh_));
    fresh_.clear();
    auto waiters = std::make_shared<std::vector<Waiter>>(std::move(waiting_));
    waiting_.clear();
    auto result = std::make_shared<BackgroundRound>();
    auto random = std::make_shared<Random>(context.Rng().Fork());
    const TimePoint begun = context.Now();
    return context.Offload(
        *options_.pool,
        // Holds nothing of this actor: after a forced stop the round outlives it.
        [services = options_.services, round = options_.round, fresh, result, random] {
          *result = RunBackgroundRound(services, round, *fresh, *random);
        },
        [this, result, waiters, begun](Context& own) {
          round_running_ = false;
          const double seconds = std::chrono::duration<double>(own.Now() - begun).count();
          options_.metrics->LearningRound(seconds);
          fresh_.merge(result->waiting);
          Settle(*result, *waiters, seconds);
          // Without waiters what is left waits for the next AgeCheck: a failure may last.
          return fresh_.empty() || waiting_.empty() ? absl::OkStatus() : MaybeStartRound(own);
        });
  }

  void Settle(const BackgroundRound& round, const std::vector<Waiter>& waiters, double seconds) {
    if (!round.status.ok()) {
      spdlog::error("a round of learning ended early: {} [{}]", MessageOf(round.status),
                    ReasonOf(round.status));
    }
    for (const LearnedPattern& pattern : round.patterns) {
      if (pattern.outcome == RoundOutcome::kKept) {
        options_.on_pattern(pattern.id);
      } else if (pattern.outcome == RoundOutcome::kFailed) {
        spdlog::error("{} lesson(s) wait for the next round: {} [{}]", pattern.responses.size(),
                      MessageOf(pattern.failure), ReasonOf(pattern.failure));
      }
    }
    for (const Waiter& waiter : waiters) {
      absl::StatusOr<FeedbackAnswer> answer = AnswerFor(round, waiter.response_id);
      if (!answer.ok()) {
        waiter.reply.Send(Annotate(answer.status(), "the feedback is stored, but learning failed"));
        continue;
      }
      answer->seconds = seconds;
      answer->session_lessons = waiter.session_lessons;
      memory_.Remember(waiter.idempotency_key, *answer);
      waiter.reply.Send(*answer);
    }
  }

  static absl::StatusOr<FeedbackAnswer> AnswerFor(const BackgroundRound& round,
                                                  const std::string& response_id) {
    FeedbackAnswer answer;
    for (const LearnedPattern& pattern : round.patterns) {
      if (!pattern.responses.contains(response_id)) {
        continue;
      }
      RETURN_IF_ERROR(pattern.failure);
      answer.learned = pattern.outcome == RoundOutcome::kKept;
      answer.held_out_before = pattern.held_out_before;
      answer.held_out_after = pattern.held_out_after;
      if (answer.learned) {
        answer.pattern_id = ToHex(pattern.id);
        answer.adapter_name = pattern.adapter_name;
        answer.adapter_version = pattern.adapter_version;
      }
      answer.explanation = Explain(pattern);
      return answer;
    }
    RETURN_IF_ERROR(round.status);
    answer.explanation = "recorded; a later round learns it";
    return answer;
  }

  static std::string Explain(const LearnedPattern& pattern) {
    switch (pattern.outcome) {
      case RoundOutcome::kKept:
        return fmt::format("trained on {} example(s) like this one", pattern.examples);
      case RoundOutcome::kDeleted:
        return "recorded, but the pattern that it belongs to was deleted while it was learned";
      case RoundOutcome::kChanged:
        return "recorded; the pattern that it belongs to was changed while it was learned, a later "
               "round learns it anew";
      case RoundOutcome::kErased:
        return "recorded; a user was erased while it was learned, a later round learns it without "
               "that user's words";
      case RoundOutcome::kRefused:
        return "recorded, but the store took no such pattern; the node's log says why";
      default:
        return "recorded, but an adapter trained on it did not lower the held-out loss, so it was "
               "not kept";
    }
  }

  const LearningActorOptions options_;
  AnswerMemory memory_;
  std::set<std::string> fresh_;
  std::vector<Waiter> waiting_;
  int rated_ = 0;
  bool round_running_ = false;
};

class LearningActorImpl final : public LearningActor {
 public:
  LearningActorImpl(ActorSystem& system, const LearningActorOptions& options)
      : clock_(*options.services.clock) {
    SpawnOptions<Message> spawn;
    spawn.name = "background";
    spawn.mailbox.capacity = limits::kLearningMailbox;
    ref_ = system.Spawn<Message>(spawn,
                                 [options] { return std::make_unique<BackgroundActor>(options); });
  }

  absl::Status Submit(Feedback feedback,
                      std::function<void(absl::StatusOr<FeedbackAnswer>)> done) override {
    // A round takes seconds; a queue of them minutes. The caller's own deadline is usually shorter.
    constexpr Duration kPatience = std::chrono::minutes(10);
    ref_.Ask<FeedbackAnswer>(
        [&feedback](ReplyTo<FeedbackAnswer> reply) {
          return FeedbackMessage{std::move(feedback), std::move(reply)};
        },
        clock_.Now() + kPatience, std::move(done));
    return absl::OkStatus();
  }

 private:
  const Clock& clock_;
  Ref<Message> ref_;
};

}  // namespace

std::unique_ptr<LearningActor> StartLearningActor(ActorSystem& system,
                                                  const LearningActorOptions& options) {
  return std::make_unique<LearningActorImpl>(system, options);
}

}  // namespace ruvd
