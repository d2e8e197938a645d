// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/memory_actor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
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
// The actor sends this one to itself.
struct Tick {};
using MemoryMessage = std::variant<LookForLessons, LessonRated, Tick>;

// What all lives of the actor and its callers share.
struct Shared {
  std::atomic<size_t> waiting{0};
  std::atomic<size_t> restored{0};
  std::atomic<bool> look{false};  // a message was lost, so the stores must be looked through
};

// The results of one piece of work.
struct Work {
  absl::Status status;
  std::vector<std::string> found;      // lessons that are not remembered yet
  std::vector<std::string> done;       // lessons that were read, or are gone
  std::vector<std::string> displaced;  // lessons that made room for others
  size_t restored = 0;                 // lessons that were read before the start
};

// The shortest lessons take some 20 ms to read, so a piece takes a fraction of a second.
constexpr size_t kLessonsAtOnce = 8;
constexpr Duration kTick = std::chrono::seconds(2);

// Returns the lessons that the memories should hold.
absl::StatusOr<std::vector<learning::LessonToRemember>> Wanted(const MemoryActorOptions& options) {
  // A text has some tokens at least, so more texts than tokens never fit.
  constexpr size_t kLeastTokens = 16;
  return learning::LessonsToRemember(options.services, options.min_rating,
                                     options.max_tokens / kLeastTokens);
}

// Forgets lessons, also those that are kept for the next start. Returns an error of the store,
// which a start makes good: it compares what is kept with the lessons.
absl::Status ForgetLessons(const MemoryActorOptions& options, const std::set<std::string>& names) {
  options.memories->Forget(names);
  return options.kept == nullptr ? absl::OkStatus() : options.kept->Remove(names);
}

// Forgets lessons that are gone, changed or must not teach any more. Returns those that are not
// remembered. Lessons older than all that a full memory holds have made room for others.
absl::StatusOr<std::vector<std::string>> ForgetGone(const MemoryActorOptions& options) {
  const std::map<std::string, Digest> held = options.memories->Names();
  std::set<std::string> gone;
  for (const auto& [name, source] : held) {
    gone.insert(name);
  }
  ASSIGN_OR_RETURN(const std::vector<learning::LessonToRemember> wanted, Wanted(options));
  const bool full = options.memories->NearlyFull();
  bool reached = false;  // a lesson that is held
  std::vector<std::string> missing;
  for (const learning::LessonToRemember& lesson : wanted) {
    const auto found = held.find(lesson.name);
    reached = reached || found != held.end();
    if (found != held.end() && found->second == lesson.source) {
      gone.erase(lesson.name);
    } else if (reached || !full) {
      missing.push_back(lesson.name);
    }
  }
  RETURN_IF_ERROR(ForgetLessons(options, gone));
  return missing;
}

// Takes what was read before the start.
absl::Status Restore(const MemoryActorOptions& options, Work* work) {
  if (options.kept == nullptr) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<learning::LessonToRemember> wanted, Wanted(options));
  ASSIGN_OR_RETURN(learning::KeptLessons kept,
                   learning::ReadKeptLessons(options.services, *options.memories->parameters(),
                                             wanted, *options.kept));
  if (kept.damaged > 0) {
    LogWarning(
        "{} lessons of the token memory could not be read and are made again from their "
        "texts",
        kept.damaged);
  }
  work->restored = kept.lessons.size();
  for (const std::string& name : options.memories->AddAll(std::move(kept.lessons))) {
    kept.outdated.insert(name);
  }
  return options.kept->Remove(kept.outdated);
}

Work Look(const MemoryActorOptions& options, bool first) {
  Work work;
  if (first) {
    work.status = Restore(options, &work);
  }
  auto found = ForgetGone(options);
  work.status.Update(found.status());
  work.found = std::move(found).value_or(std::vector<std::string>());
  return work;
}

// Remembers a lesson that was read, and keeps it for the next start.
void Remember(const MemoryActorOptions& options, serving::RememberedLesson lesson, Work* work) {
  const serving::RememberedLesson read = lesson;
  const std::vector<std::string> displaced = options.memories->Add(std::move(lesson));
  work->displaced.insert(work->displaced.end(), displaced.begin(), displaced.end());
  if (options.kept != nullptr) {
    const auto keep = [&] {
      work->status.Update(
          options.kept->Put(learning::ToKeep(*options.memories->parameters(), read)));
    };
    options.fence->RunUnlessErased(read.user_id, read.read, keep);
    work->status.Update(options.kept->Remove({displaced.begin(), displaced.end()}));
  }
  // A withdrawal or a correction since the lesson was read did not find it in the memories.
  if (!learning::StillTeaches(options.services, read, options.min_rating).value_or(true)) {
    work->status.Update(ForgetLessons(options, {read.name}));
  }
}

Work ReadLessons(const MemoryActorOptions& options, const std::vector<std::string>& names) {
  Work work;
  for (const std::string& name : names) {
    if (options.services.cancelled && options.services.cancelled()) {
      return work;
    }
    auto lesson = learning::ObserveToRemember(options.services, *options.memories->parameters(),
                                              name, options.min_rating);
    if (!lesson.ok()) {
      work.status.Update(lesson.status());
    } else if (lesson->has_value()) {
      Remember(options, **std::move(lesson), &work);
    } else {
      // It was corrected, and teaches nothing any more.
      work.status.Update(ForgetLessons(options, {name}));
    }
    work.done.push_back(name);
  }
  return work;
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
    std::erase(queue_, message.name);
    queue_.push_front(std::move(message.name));
    return Continue(context);
  }
  absl::Status On(Tick&, Context& context) override {
    look_ = shared_->look.exchange(false) || look_;
    return Continue(context);
  }

 private:
  bool cancelled() const { return options_.services.cancelled && options_.services.cancelled(); }
  bool paused() const {
    const storage::ChangeStore* const changes = options_.services.changes;
    return changes != nullptr && changes->IsPaused().value_or(false);
  }
  absl::Status Continue(Context& context) {
    shared_->waiting.store(queue_.size());
    // Cancelled work comes back at once, so it is not begun again: a drain waits for it.
    // A pause stops reading only: what is gone is forgotten all the same.
    const bool reads = !queue_.empty() && !paused();
    if (running_ || cancelled() || (!look_ && !reads)) {
      return absl::OkStatus();
    }
    running_ = true;
    auto work = std::make_shared<Work>();
    // What was rated is read first.
    std::vector<std::string> names;
    if (!look_ || (!first_ && reads && queue_.front().find(':') == std::string::npos)) {
      names.assign(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(
                                                        std::min(queue_.size(), kLessonsAtOnce)));
    } else {
      look_ = false;
    }
    // The work refers to nothing in this actor, because it outlives the actor after a forced stop.
    return context.Offload(
        *options_.pool,
        [options = options_, names, work, first = std::exchange(first_, false)] {
          *work = names.empty() ? Look(options, first) : ReadLessons(options, names);
        },
        [this, work](Context& own) {
          running_ = false;
          Take(*work);
          return Continue(own);
        });
  }
  void Take(const Work& work) {
    if (!work.status.ok() && !absl::IsCancelled(work.status) &&
        ReasonOf(work.status) != reported_) {
      LogWarning("lessons are not remembered: {} [{}]", MessageOf(work.status),
                 ReasonOf(work.status));
      reported_ = ReasonOf(work.status);
    }
    for (const std::string& name : work.done) {
      std::erase(queue_, name);
    }
    shared_->restored.fetch_add(work.restored);
    const std::set<std::string> known(queue_.begin(), queue_.end());
    for (const std::string& name : work.found) {
      if (!known.contains(name) && !displaced_.contains(name)) {
        queue_.push_back(name);
      }
    }
    displaced_.insert(work.displaced.begin(), work.displaced.end());
    if (!work.displaced.empty() && !told_) {
      told_ = true;
      LogInfo("the memory of lessons is full at memory.tokens = {}; the first lessons make room",
              options_.max_tokens);
    }
    shared_->waiting.store(queue_.size());
  }

  const MemoryActorOptions options_;
  const std::shared_ptr<Shared> shared_;
  std::deque<std::string> queue_;    // names of lessons to read
  std::set<std::string> displaced_;  // lessons that would displace others if they were read again
  bool look_ = false;                // the stores must be looked through
  bool first_ = true;                // what was read before the start must be taken first
  bool running_ = false;
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
  void OnTextsAdded() override { Tell(LookForLessons{}); }
  void OnRated(const std::string& response_id) override {
    if (!Tell(LessonRated{response_id})) {
      Forget({response_id});  // what it taught before; it is read anew
    }
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
      options_.memories->ForgetUser(user_id);
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
  // Returns false if the message is lost because the mailbox is full; the stores are looked through
  // then.
  bool Tell(MemoryMessage message) {
    if (!ref_ || ref_->TryTell(std::move(message)).ok()) {
      return true;
    }
    shared_->look.store(true);
    return false;
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
