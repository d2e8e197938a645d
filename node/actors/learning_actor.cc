// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/learning_actor.h"

#include <chrono>
#include <utility>
#include <vector>

#include "node/actors/background_actor.h"
#include "node/limits.h"

namespace ruvd::actors {
namespace {

class LearningActorImpl final : public learning::LearningActor {
 public:
  LearningActorImpl(runtime::ActorSystem& system, const LearningActorOptions& options)
      : clock_(*options.services.clock) {
    runtime::SpawnOptions<BackgroundMessage> spawn;
    spawn.name = "background";
    spawn.mailbox.capacity = limits::kLearningMailbox;
    ref_ =
        system.Spawn<BackgroundMessage>(spawn, [options] { return MakeBackgroundActor(options); });
  }

  absl::Status Submit(learning::Feedback feedback, Done<learning::FeedbackAnswer> done) override {
    Ask<learning::FeedbackAnswer>(
        [&](auto reply) { return FeedbackMessage{std::move(feedback), std::move(reply)}; },
        std::move(done));
    return absl::OkStatus();
  }
  void Undo(std::string token, Done<storage::LearningChange> done) override {
    Ask<storage::LearningChange>(
        [&](auto reply) { return UndoMessage{std::move(token), std::move(reply)}; },
        std::move(done));
  }
  void ListChanges(size_t count, Done<std::vector<storage::LearningChange>> done) override {
    Ask<std::vector<storage::LearningChange>>(
        [&](auto reply) { return ListMessage{count, std::move(reply)}; }, std::move(done));
  }
  void SetPaused(bool paused, Done<learning::LearningStatus> done) override {
    Ask<learning::LearningStatus>(
        [&](auto reply) { return PauseMessage{paused, std::move(reply)}; }, std::move(done));
  }
  void GetStatus(Done<learning::LearningStatus> done) override {
    Ask<learning::LearningStatus>([&](auto reply) { return StatusMessage{std::move(reply)}; },
                                  std::move(done));
  }
  void RunBackground(bool replay, Done<learning::BackgroundRoundSummary> done) override {
    Ask<learning::BackgroundRoundSummary>(
        [&](auto reply) { return RunMessage{replay, std::move(reply)}; }, std::move(done));
  }

 private:
  // A round takes seconds, a queue of rounds minutes. The caller's own deadline is usually shorter.
  static constexpr Duration kPatience = std::chrono::minutes(10);

  template <typename Reply, typename Make>
  void Ask(Make make, Done<Reply> done) {
    ref_.Ask<Reply>(
        [&make](runtime::ReplyTo<Reply> reply) {
          return BackgroundMessage(make(std::move(reply)));
        },
        clock_.Now() + kPatience, std::move(done));
  }

  const Clock& clock_;
  runtime::Ref<BackgroundMessage> ref_;
};

}  // namespace

std::unique_ptr<learning::LearningActor> StartLearningActor(runtime::ActorSystem& system,
                                                            const LearningActorOptions& options) {
  return std::make_unique<LearningActorImpl>(system, options);
}

}  // namespace ruvd::actors
