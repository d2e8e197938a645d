// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/parallel.h"
#include "inference/memory/memory_parameters.h"
#include "inference/memory/memory_reader.h"
#include "inference/memory/token_memory.h"
#include "node/serving/erasure_fence.h"

namespace ruvd::serving {

// One lesson as it was observed in both ways of reading.
struct RememberedLesson {
  std::string name;     // as learning/text_lessons.h names lessons
  std::string user_id;  // whose completions may show it; "": everybody's
  Digest source{};      // of what it teaches, so that a correction is noticed
  uint64_t rank = 0;    // of a user's lessons those of lower ranks make room first
  // Runs with the id RunIdOf(name); null: it was not observed in this way
  std::shared_ptr<const inference::MemoryRun> masked;
  std::shared_ptr<const inference::MemoryRun> causal;
  TimePoint read{};  // when it was read from its store
};

// Returns the id of the runs of a lesson.
uint64_t RunIdOf(std::string_view lesson_name);

struct LessonMemoriesStatus {
  size_t users = 0;  // with lessons of their own
  size_t lessons = 0;
  size_t entries = 0;  // tokens that can be read from left to right
  size_t bytes = 0;
};

// What a node remembers of its lessons, word by word: one memory for each user, and one of the
// lessons without a user, which all users share. A completion can quote what its memory holds, so
// no user reads the memory of another. It never leaves the node. Thread-safe; readers wait for no
// change, because a change builds the new memory beside the old one.
class LessonMemories {
 public:
  // Lessons of at most `max_tokens` tokens together are held. Above that the user with the most
  // tokens makes room, lessons of the lowest ranks first, so that no user pushes out the lessons of
  // one who has fewer. Lessons without a user count as those of one more user, and a lesson counts
  // as 16 tokens at least. `clock` and `runner` must outlive this object and its readers. The
  // readers run on `runner`, so only the thread that computes completions with it may read.
  LessonMemories(std::shared_ptr<const inference::MemoryParameters> parameters, size_t max_tokens,
                 const Clock& clock, ParallelRunner& runner = SerialRunner())
      : parameters_(std::move(parameters)),
        max_tokens_(max_tokens),
        clock_(clock),
        runner_(runner) {}

  const std::shared_ptr<const inference::MemoryParameters>& parameters() const {
    return parameters_;
  }

  // Remembers a lesson, in place of one with the same name. Does nothing if the user was forgotten
  // after the lesson was read. Returns the names of the lessons that made room. Its own is not
  // among them if it has the user's highest rank: the correction of the user's newest answer acts
  // however full the memory is.
  std::vector<std::string> Add(const RememberedLesson& lesson);
  // Does so for many lessons, none of which is held, in one pass; any of them may make room. A
  // memory keeps their order.
  std::vector<std::string> AddAll(std::vector<RememberedLesson> lessons);
  // Forgets lessons; names that are not held have no effect.
  void Forget(const std::set<std::string>& names);
  // Returns the names of the user's lessons.
  std::set<std::string> ForgetUser(std::string_view user_id);
  // Returns the names of all lessons held, with their sources.
  std::map<std::string, Digest> Names() const;
  // Returns false if a lesson of this user and rank, or of a higher one, made room for others, and
  // would do so again.
  bool HasRoom(std::string_view user_id, uint64_t rank) const;

  // Returns what reads the lessons that a user may see; null if the user sees no lesson. What is
  // remembered or forgotten later does not change it.
  std::unique_ptr<inference::MemoryReader> ReaderFor(std::string_view user_id, bool causal) const;

  LessonMemoriesStatus status() const;

 private:
  // What is remembered of the lessons of one user alone
  struct Memories {
    std::shared_ptr<const inference::TokenMemory> masked;
    std::shared_ptr<const inference::TokenMemory> causal;
    bool operator==(const Memories&) const = default;
  };
  struct Held {
    std::string user_id;
    Digest source{};
    uint64_t rank = 0;
    size_t tokens = 0;
  };
  // What is held of one user
  struct Share {
    size_t tokens = 0;
    std::set<std::pair<uint64_t, std::string>> by_rank;  // rank and name
  };

  Memories MemoriesOf(std::string_view user_id) const;
  // Returns the lessons that must make room, `added` not among them if its user has none of a
  // higher rank.
  std::set<std::string> ChooseDisplaced(std::string_view added)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Hold(const RememberedLesson& lesson) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  using NamesByUser = std::map<std::string, std::vector<std::string>>;
  // Takes names out of held_; returns those that were there.
  NamesByUser Release(const std::set<std::string>& names) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the runs of lessons that are not held any more.
  void RemoveRuns(const NamesByUser& released);
  std::vector<std::string> MakeRoom(std::string_view added = "");

  const std::shared_ptr<const inference::MemoryParameters> parameters_;
  const size_t max_tokens_;
  const Clock& clock_;
  ParallelRunner& runner_;
  mutable Mutex mutex_;
  std::map<std::string, Memories, std::less<>> memories_ ABSL_GUARDED_BY(mutex_);  // by user
  std::map<std::string, Held> held_ ABSL_GUARDED_BY(mutex_);                       // by name
  std::map<std::string, Share, std::less<>> shares_ ABSL_GUARDED_BY(mutex_);       // by user
  // The highest ranks that made room, by user
  std::map<std::string, uint64_t, std::less<>> floors_ ABSL_GUARDED_BY(mutex_);
  ErasedUsers forgotten_ ABSL_GUARDED_BY(mutex_);
  size_t tokens_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ruvd::serving
