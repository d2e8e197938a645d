// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/memory_actor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "node/actors/throttled_learning.h"
#include "node/learning/lesson_memory.h"
#include "node/learning/text_lessons.h"
#include "node/limits.h"
#include "node/log/log.h"

namespace ruvd::actors {
namespace {

struct LookForLessons {};
struct LessonRated {
  std::string name;
};
struct PromptStored {
  std::string name;
};
// The actor sends this one to itself.
struct Tick {};
using MemoryMessage = std::variant<LookForLessons, LessonRated, PromptStored, Tick>;

// What all lives of the actor and its callers share.
struct Shared {
  std::atomic<size_t> waiting{0};
  std::atomic<size_t> restored{0};
  std::atomic<bool> look{false};  // a message was lost, so the stores must be looked through
};

using learning::LessonToRemember;

// What the worker shall do: look through the stores, or read lessons.
struct Task {
  bool look = false;
  bool restore = false;  // before looking, take what was read before the start
  bool rated = false;    // a person waits to see the effect of these lessons
  std::vector<LessonToRemember> lessons;
};

// The results of a task.
struct Work {
  absl::Status status;
  std::optional<std::vector<LessonToRemember>> found;  // lessons that are not remembered yet
  std::vector<LessonToRemember> left;                  // lessons that were not read
  bool look_again = false;                             // a store could not be asked
  size_t displaced = 0;  // lessons that made room for others, or found none
  size_t restored = 0;   // lessons that were read before the start
};

// The shortest lessons take some 20 ms to read, so a piece takes a fraction of a second.
constexpr size_t kLessonsAtOnce = 8;
// Prompts that come while so many lessons wait, in a pause for example, are found in the store.
constexpr size_t kMostWaiting = 1024;
constexpr Duration kTick = std::chrono::seconds(2);

// Returns the lessons that the memories should hold, highest rank first.
absl::StatusOr<std::vector<LessonToRemember>> Wanted(const MemoryActorOptions& options) {
  // A text has some tokens at least, so more texts than tokens never fit.
  constexpr size_t kLeastTokens = 16;
  return learning::LessonsToRemember(options.services, options.rules,
                                     options.max_tokens / kLeastTokens);
}

// Forgets lessons, also those that are kept for the next start. Returns an error of the store,
// which a start makes good: it compares what is kept with the lessons.
absl::Status ForgetLessons(const MemoryActorOptions& options, const std::set<std::string>& names) {
  options.memories->Forget(names);
  return options.kept == nullptr ? absl::OkStatus() : options.kept->Remove(names);
}

// Forgets lessons that are gone, changed or must not teach any more. Returns those that are not
// remembered and have room.
absl::StatusOr<std::vector<LessonToRemember>> ForgetGone(const MemoryActorOptions& options) {
  const std::map<std::string, Digest> held = options.memories->Names();
  std::set<std::string> gone;
  for (const auto& [name, source] : held) {
    gone.insert(name);
  }
  ASSIGN_OR_RETURN(const std::vector<LessonToRemember> wanted, Wanted(options));
  std::vector<LessonToRemember> missing;
  for (const LessonToRemember& lesson : wanted) {
    const auto found = held.find(lesson.name);
    if (found != held.end() && found->second == lesson.source) {
      gone.erase(lesson.name);
    } else {
      missing.push_back(lesson);
    }
  }
  if (!gone.empty()) {
    RETURN_IF_ERROR(ForgetLessons(options, gone));
  }
  std::erase_if(missing, [&options](const LessonToRemember& lesson) {
    return !options.memories->HasRoom(lesson.user_id, lesson.rank);
  });
  return missing;
}

// Takes what was read before the start.
absl::Status Restore(const MemoryActorOptions& options, Work* work) {
  if (options.kept == nullptr) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<LessonToRemember> wanted, Wanted(options));
  ASSIGN_OR_RETURN(learning::KeptLessons kept,
                   learning::ReadKeptLessons(options.services, *options.memories->parameters(),
                                             wanted, *options.kept));
  if (kept.damaged > 0) {
    LogWarning(
        "{} lessons of the token memory could not be read and are made again from their texts",
        kept.damaged);
  }
  // An actor that failed and was started again has them already.
  std::erase_if(kept.lessons, [held = options.memories->Names()](const auto& lesson) {
    return held.contains(lesson.name);
  });
  for (const std::string& name : options.memories->AddAll(std::move(kept.lessons))) {
    kept.outdated.insert(name);
  }
  work->restored = options.memories->Names().size();
  return options.kept->Remove(kept.outdated);
}

Work Look(const MemoryActorOptions& options, bool restore) {
  Work work;
  if (restore) {
    work.status = Restore(options, &work);
  }
  auto found = ForgetGone(options);
  work.status.Update(found.status());
  work.look_again = !found.ok();
  if (found.ok()) {
    work.found = *std::move(found);
  }
  return work;
}

// Remembers a lesson that was read, and keeps it for the next start. A withdrawal or a correction
// since it was read did not find it in the memories, so it is asked for once more. If the store
// cannot tell, the lesson is forgotten, too.
void Remember(const MemoryActorOptions& options, const serving::RememberedLesson& read,
              Work* work) {
  const std::vector<std::string> displaced = options.memories->Add(read);
  work->displaced += displaced.size();
  const auto still = [&] {
    return learning::StillTeaches(options.services, read.name, read.source, options.rules);
  };
  const bool held = std::ranges::find(displaced, read.name) == displaced.end();
  if (options.kept != nullptr) {
    work->status.Update(options.kept->Remove({displaced.begin(), displaced.end()}));
  }
  if (options.kept != nullptr && held) {
    work->status.Update(
        options.kept->Put(learning::ToKeep(*options.memories->parameters(), read), still).status());
  }
  const absl::StatusOr<bool> teaches = still();
  work->look_again = work->look_again || !teaches.ok();
  if (!teaches.value_or(false)) {
    work->status.Update(ForgetLessons(options, {read.name}));
  }
}

// Reads lessons, and gives way to serving between two of them unless a person waits.
Work ReadLessons(MemoryActorOptions options, const Task& task) {
  Work work;
  std::optional<ThrottledLearning> throttled;
  if (!task.rated) {
    throttled.emplace(options.throttle, &options.services);
  }
  const std::vector<LessonToRemember>& lessons = task.lessons;
  for (size_t i = 0; i < lessons.size(); ++i) {
    if (!task.rated && !options.memories->HasRoom(lessons[i].user_id, lessons[i].rank)) {
      continue;  // others took its room since it was found
    }
    if (const absl::Status go_on = learning::YieldBetweenPieces(options.services); !go_on.ok()) {
      work.status.Update(go_on);
      work.left.assign(lessons.begin() + static_cast<ptrdiff_t>(i), lessons.end());
      return work;
    }
    auto read = learning::ObserveToRemember(options.services, *options.memories->parameters(),
                                            lessons[i], options.rules);
    if (absl::IsCancelled(read.status())) {
      work.left.assign(lessons.begin() + static_cast<ptrdiff_t>(i), lessons.end());
      return work;
    }
    if (!read.ok()) {
      work.status.Update(read.status());
    } else if (read->has_value()) {
      Remember(options, **read, &work);
    } else {
      // It was corrected, and teaches nothing any more.
      work.status.Update(ForgetLessons(options, {lessons[i].name}));
    }
  }
  return work;
}

Work Do(const MemoryActorOptions& options, const Task& task) {
  return task.look ? Look(options, task.restore) : ReadLessons(options, task);
}

class MemoryActorCell final : public runtime::Actor<MemoryMessage> {
 public:
  MemoryActorCell(const MemoryActorOptions& options, std::shared_ptr<Shared> shared)
      : options_(options), shared_(std::move(shared)) {}

  absl::Status OnStart(Context& context) override {
    look_ = true;
    RETURN_IF_ERROR(Continue(context));
    return context.StartPeriodicTimer(kTick, [] { return Tick{}; }).status();
  }
  absl::Status On(LookForLessons&, Context& context) override {
    look_ = true;
    return Continue(context);
  }
  absl::Status On(LessonRated& message, Context& context) override {
    // It comes before what waits, because a person waits to see the effect.
    std::erase_if(
        queue_, [&message](const LessonToRemember& lesson) { return lesson.name == message.name; });
    if (std::ranges::find(rated_, message.name) == rated_.end()) {
      rated_.push_back(std::move(message.name));
    }
    return Continue(context);
  }
  absl::Status On(PromptStored& message, Context& context) override {
    // What it teaches decides its rank, so it is read before others.
    constexpr uint64_t kAnyRank = std::numeric_limits<uint64_t>::max();
    if (queue_.size() < kMostWaiting) {
      queue_.push_front({.name = std::move(message.name), .rank = kAnyRank});
    } else {
      look_again_ = true;  // the store has it
    }
    return Continue(context);
  }
  absl::Status On(Tick&, Context& context) override {
    look_ = shared_->look.exchange(false) || look_ || look_again_;
    return Continue(context);
  }

 private:
  bool cancelled() const { return options_.services.cancelled && options_.services.cancelled(); }
  bool paused() const {
    const storage::ChangeStore* const changes = options_.services.changes;
    return changes != nullptr && changes->IsPaused().value_or(false);
  }
  // What is handed out is in no queue, so that a lesson that is rated while it is read is read
  // again. Nullopt if there is nothing to do. A pause stops reading only.
  std::optional<Task> NextTask() {
    if (restored_ && !paused() && !rated_.empty()) {
      Task task{.rated = true};
      for (size_t i = 0; i < kLessonsAtOnce && !rated_.empty(); ++i) {
        task.lessons.push_back({.name = std::move(rated_.front())});
        rated_.pop_front();
      }
      return task;
    }
    if (look_) {
      look_ = false;
      look_again_ = false;
      return Task{.look = true, .restore = !std::exchange(restored_, true)};
    }
    if (queue_.empty() || paused()) {
      return std::nullopt;
    }
    const auto end =
        queue_.begin() + static_cast<ptrdiff_t>(std::min(queue_.size(), kLessonsAtOnce));
    Task task{.lessons = {std::make_move_iterator(queue_.begin()), std::make_move_iterator(end)}};
    queue_.erase(queue_.begin(), end);
    return task;
  }
  void CountWaiting(size_t read) { shared_->waiting.store(rated_.size() + queue_.size() + read); }
  absl::Status Continue(Context& context) {
    // Cancelled work comes back at once, so it is not begun again: a drain waits for it.
    std::optional<Task> next = running_ || cancelled() ? std::nullopt : NextTask();
    if (!next) {
      CountWaiting(running_ ? reading_ : 0);
      return absl::OkStatus();
    }
    running_ = true;
    reading_ = next->lessons.size();
    CountWaiting(reading_);
    auto work = std::make_shared<Work>();
    // The work refers to nothing in this actor, because it outlives the actor after a forced stop.
    return context.Offload(
        *options_.pool,
        [options = options_, task = *std::move(next), work] { *work = Do(options, task); },
        [this, work](Context& own) {
          running_ = false;
          Take(std::move(*work));
          return Continue(own);
        });
  }
  void Take(Work work) {
    if (!work.status.ok() && !absl::IsCancelled(work.status) &&
        ReasonOf(work.status) != reported_) {
      LogWarning("lessons are not remembered, or not beyond the next start: {} [{}]",
                 MessageOf(work.status), ReasonOf(work.status));
      reported_ = ReasonOf(work.status);
    }
    if (work.found) {
      std::erase_if(*work.found, [this](const LessonToRemember& lesson) {
        return std::ranges::find(rated_, lesson.name) != rated_.end();
      });
      queue_.assign(std::make_move_iterator(work.found->begin()),
                    std::make_move_iterator(work.found->end()));
    }
    queue_.insert(queue_.begin(), work.left.begin(), work.left.end());
    if (work.displaced > 0) {
      std::erase_if(queue_, [this](const LessonToRemember& lesson) {
        return !options_.memories->HasRoom(lesson.user_id, lesson.rank);
      });
    }
    look_again_ = look_again_ || work.look_again;
    shared_->restored.fetch_add(work.restored);
    if (work.displaced > 0 && !told_) {
      told_ = true;
      LogInfo(
          "the memory of lessons is full at memory.tokens = {}; of the user with the most, texts "
          "and the oldest lessons make room first",
          options_.max_tokens);
    }
  }

  const MemoryActorOptions options_;
  const std::shared_ptr<Shared> shared_;
  std::deque<std::string> rated_;       // completions whose feedback changed
  std::deque<LessonToRemember> queue_;  // lessons to read, highest rank first
  bool look_ = false;                   // the stores must be looked through
  bool look_again_ = false;             // likewise, but not before the next tick
  bool restored_ = false;               // what was read before the start was taken
  bool running_ = false;
  size_t reading_ = 0;  // lessons that the worker reads
  bool told_ = false;
  std::string reported_;  // reason of the last reported failure
};

class MemoryActorImpl final : public learning::MemoryActor {
 public:
  MemoryActorImpl(runtime::ActorSystem& system, const MemoryActorOptions& options)
      : options_(options) {
    if (!options_.disabled_because.empty()) {
      ClearKept();
      return;
    }
    runtime::SpawnOptions<MemoryMessage> spawn;
    spawn.name = "memory";
    spawn.mailbox.capacity = limits::kLearningMailbox;
    ref_ = system.Spawn<MemoryMessage>(spawn, [options, shared = shared_] {
      return std::make_unique<MemoryActorCell>(options, shared);
    });
  }
  void OnLessonsChanged() override { Tell(LookForLessons{}); }
  void OnStored(const std::string& response_id) override {
    if (options_.rules.prompts) {
      Tell(PromptStored{response_id});
    }
  }
  void OnRated(const std::string& response_id) override {
    if (options_.memories == nullptr) {
      return;
    }
    const std::map<std::string, Digest> held = options_.memories->Names();
    const auto found = held.find(response_id);
    if (found != held.end() &&
        !learning::StillTeaches(options_.services, response_id, found->second, options_.rules)
             .value_or(false)) {
      Forget({response_id});
    }
    Tell(LessonRated{response_id});
  }
  void OnLessonsWithdrawn() override {
    if (options_.memories == nullptr) {
      return;
    }
    std::set<std::string> gone;
    for (const auto& [name, source] : options_.memories->Names()) {
      // What cannot be looked up is forgotten, too; it is read again if it is there.
      if (learning::IsGone(options_.services, name).value_or(true)) {
        gone.insert(name);
      }
    }
    Forget(gone);
    Tell(LookForLessons{});
  }
  void OnUndone(const std::vector<std::string>& responses) override {
    Forget({responses.begin(), responses.end()});
    Tell(LookForLessons{});
  }
  void ForgetUser(const std::string& user_id) override {
    if (options_.memories != nullptr) {
      // The rows are removed as well: without their key they would only take space.
      Forget(options_.memories->ForgetUser(user_id));
    }
  }
  learning::MemoryStatus status() const override {
    learning::MemoryStatus status{.enabled = options_.disabled_because.empty(),
                                  .disabled_because = options_.disabled_because,
                                  .waiting = shared_->waiting.load(),
                                  .restored = shared_->restored.load()};
    if (options_.memories != nullptr) {
      status.memories = options_.memories->status();
    }
    return status;
  }

 private:
  void Forget(const std::set<std::string>& names) {
    if (options_.memories == nullptr) {
      return;
    }
    if (const absl::Status status = ForgetLessons(options_, names); !status.ok()) {
      LogWarning("forgotten lessons stay sealed in the store until the next start: {} [{}]",
                 MessageOf(status), ReasonOf(status));
    }
  }
  // A node that remembers nothing would not notice that a lesson which it keeps was withdrawn.
  void ClearKept() {
    if (options_.kept == nullptr) {
      return;
    }
    if (const absl::Status status = options_.kept->Clear(); !status.ok()) {
      LogWarning("what was remembered of lessons stays sealed in the store: {} [{}]",
                 MessageOf(status), ReasonOf(status));
    }
  }
  // If the message is lost because the mailbox is full, the stores are looked through.
  void Tell(MemoryMessage message) {
    if (ref_ && !ref_->TryTell(std::move(message)).ok()) {
      shared_->look.store(true);
    }
  }

  const MemoryActorOptions options_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::optional<runtime::Ref<MemoryMessage>> ref_;  // nullopt if disabled
};

}  // namespace

std::unique_ptr<learning::MemoryActor> StartMemoryActor(runtime::ActorSystem& system,
                                                        const MemoryActorOptions& options) {
  return std::make_unique<MemoryActorImpl>(system, options);
}

}  // namespace ruvd::actors
