// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/lesson_memories.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <span>
#include <utility>

#include "base/bytes.h"

namespace ruvd::serving {
namespace {

using inference::MemoryRun;
using inference::TokenMemory;
using MemoryPointer = std::shared_ptr<const TokenMemory>;

// A lesson takes a group of places however short it is.
constexpr size_t kLeastTokens = 16;

size_t TokensOf(const RememberedLesson& lesson) {
  size_t tokens = kLeastTokens;
  for (const auto& run : {lesson.masked, lesson.causal}) {
    tokens = std::max(tokens, run == nullptr ? 0 : run->size());
  }
  return tokens;
}

// Returns a memory with the run of a lesson, or without one if `run` is null.
MemoryPointer Replace(const MemoryPointer& memory, uint64_t id,
                      const std::shared_ptr<const MemoryRun>& run) {
  return run == nullptr ? memory->Without(id) : memory->With(run);
}

MemoryPointer Append(const MemoryPointer& memory,
                     std::span<const std::shared_ptr<const MemoryRun>> runs) {
  return std::make_shared<const TokenMemory>(memory->Joined(TokenMemory(runs)));
}

}  // namespace

uint64_t RunIdOf(std::string_view lesson_name) {
  const Digest digest = Sha256(lesson_name);
  uint64_t id = 0;
  std::memcpy(&id, digest.data(), sizeof(id));
  return id;
}

LessonMemories::Memories LessonMemories::MemoriesOf(std::string_view user_id) const {
  const MutexLock lock(mutex_);
  const auto found = memories_.find(user_id);
  static const MemoryPointer& nothing = *new MemoryPointer(std::make_shared<const TokenMemory>());
  return found == memories_.end() ? Memories{nothing, nothing} : found->second;
}

void LessonMemories::Hold(const RememberedLesson& lesson) {
  Release({lesson.name});
  const size_t tokens = TokensOf(lesson);
  tokens_ += tokens;
  Share& share = shares_[lesson.user_id];
  share.tokens += tokens;
  share.by_rank.emplace(lesson.rank, lesson.name);
  held_.emplace(lesson.name, Held{.user_id = lesson.user_id,
                                  .source = lesson.source,
                                  .rank = lesson.rank,
                                  .tokens = tokens});
}

LessonMemories::NamesByUser LessonMemories::Release(const std::set<std::string>& names) {
  NamesByUser released;
  for (const std::string& name : names) {
    const auto held = held_.find(name);
    if (held != held_.end()) {
      released[held->second.user_id].push_back(name);
      tokens_ -= held->second.tokens;
      const auto share = shares_.find(held->second.user_id);
      share->second.tokens -= held->second.tokens;
      share->second.by_rank.erase({held->second.rank, name});
      if (share->second.by_rank.empty()) {
        shares_.erase(share);
      }
      held_.erase(held);
    }
  }
  return released;
}

std::vector<std::string> LessonMemories::Add(const RememberedLesson& lesson) {
  for (;;) {
    const Memories before = MemoriesOf(lesson.user_id);
    const uint64_t id = RunIdOf(lesson.name);
    const Memories after{Replace(before.masked, id, lesson.masked),
                         Replace(before.causal, id, lesson.causal)};
    const MutexLock lock(mutex_);
    if (forgotten_.IsErased(lesson.user_id, lesson.read)) {
      return {};
    }
    const auto found = memories_.find(lesson.user_id);
    if (found == memories_.end() ? before.masked->empty() && before.causal->empty()
                                 : found->second == before) {
      memories_[lesson.user_id] = after;
      Hold(lesson);
      break;
    }
  }
  return MakeRoom(lesson.name);
}

std::vector<std::string> LessonMemories::AddAll(std::vector<RememberedLesson> lessons) {
  std::map<std::string, std::vector<RememberedLesson>> by_user;
  for (RememberedLesson& lesson : lessons) {
    by_user[lesson.user_id].push_back(std::move(lesson));
  }
  for (const auto& [user_id, own] : by_user) {
    std::vector<std::shared_ptr<const MemoryRun>> masked;
    std::vector<std::shared_ptr<const MemoryRun>> causal;
    for (const RememberedLesson& lesson : own) {
      if (lesson.masked != nullptr) {
        masked.push_back(lesson.masked);
      }
      if (lesson.causal != nullptr) {
        causal.push_back(lesson.causal);
      }
    }
    for (;;) {
      const Memories before = MemoriesOf(user_id);
      const Memories after{Append(before.masked, masked), Append(before.causal, causal)};
      const MutexLock lock(mutex_);
      if (forgotten_.IsErased(user_id, own.front().read)) {
        break;
      }
      const auto found = memories_.find(user_id);
      if (found == memories_.end() ? before.masked->empty() && before.causal->empty()
                                   : found->second == before) {
        memories_[user_id] = after;
        for (const RememberedLesson& lesson : own) {
          Hold(lesson);
        }
        break;
      }
    }
  }
  return MakeRoom();
}

std::set<std::string> LessonMemories::ChooseDisplaced(std::string_view added) {
  using ByRank = std::set<std::pair<uint64_t, std::string>>;
  struct Largest {
    size_t tokens = 0;
    std::string_view user_id;
    ByRank::const_iterator next;  // the lesson that makes room next
    ByRank::const_iterator end;
    bool operator<(const Largest& other) const {
      return std::pair(tokens, user_id) < std::pair(other.tokens, other.user_id);
    }
  };
  std::priority_queue<Largest> users;
  size_t left = tokens_;
  if (left > max_tokens_) {
    for (const auto& [user_id, share] : shares_) {
      users.push({share.tokens, user_id, share.by_rank.begin(), share.by_rank.end()});
    }
  }
  std::set<std::string> displaced;
  while (left > max_tokens_ && displaced.size() + 1 < held_.size() && !users.empty()) {
    Largest user = users.top();
    users.pop();
    const auto& [rank, name] = *user.next++;
    if (name != added || user.next != user.end) {
      const size_t tokens = held_.at(name).tokens;
      displaced.insert(name);
      left -= tokens;
      user.tokens -= tokens;
      uint64_t& floor = floors_[std::string(user.user_id)];
      floor = std::max(floor, rank);
    }
    if (user.next != user.end) {
      users.push(user);
    }
  }
  return displaced;
}

std::vector<std::string> LessonMemories::MakeRoom(std::string_view added) {
  std::set<std::string> displaced;
  NamesByUser released;
  {
    const MutexLock lock(mutex_);
    displaced = ChooseDisplaced(added);
    released = Release(displaced);
  }
  RemoveRuns(released);
  return {displaced.begin(), displaced.end()};
}

void LessonMemories::RemoveRuns(const NamesByUser& released) {
  for (const auto& [user_id, names] : released) {
    for (;;) {
      Memories before;
      std::set<uint64_t> ids;
      {
        const MutexLock lock(mutex_);
        const auto found = memories_.find(user_id);
        if (found == memories_.end()) {
          break;
        }
        before = found->second;
        for (const std::string& name : names) {
          if (!held_.contains(name)) {  // otherwise it was added again meanwhile
            ids.insert(RunIdOf(name));
          }
        }
      }
      const Memories after{before.masked->Without(ids), before.causal->Without(ids)};
      const MutexLock lock(mutex_);
      const auto found = memories_.find(user_id);
      if (found != memories_.end() && found->second == before) {
        found->second = after;
        if (after.masked->empty() && after.causal->empty()) {
          memories_.erase(found);
        }
        break;
      }
    }
  }
}

void LessonMemories::Forget(const std::set<std::string>& names) {
  NamesByUser released;
  {
    const MutexLock lock(mutex_);
    released = Release(names);
    if (!released.empty()) {
      floors_.clear();
    }
  }
  RemoveRuns(released);
}

std::set<std::string> LessonMemories::ForgetUser(std::string_view user_id) {
  std::set<std::string> own;
  {
    const MutexLock lock(mutex_);
    forgotten_.Add(user_id, clock_.Now());
    for (const auto& [name, held] : held_) {
      if (held.user_id == user_id) {
        own.insert(name);
      }
    }
  }
  Forget(own);
  return own;
}

std::map<std::string, Digest> LessonMemories::Names() const {
  const MutexLock lock(mutex_);
  std::map<std::string, Digest> names;
  for (const auto& [name, held] : held_) {
    names.emplace(name, held.source);
  }
  return names;
}

bool LessonMemories::HasRoom(std::string_view user_id, uint64_t rank) const {
  const MutexLock lock(mutex_);
  const auto floor = floors_.find(user_id);
  return floor == floors_.end() || rank > floor->second;
}

std::unique_ptr<inference::MemoryReader> LessonMemories::ReaderFor(std::string_view user_id,
                                                                   bool causal) const {
  const auto memory_of = [&](std::string_view user) {
    Memories memories = MemoriesOf(user);
    return causal ? std::move(memories.causal) : std::move(memories.masked);
  };
  MemoryPointer memory = memory_of("");
  if (!user_id.empty()) {
    const MemoryPointer own = memory_of(user_id);
    memory = memory->empty() ? own
             : own->empty()  ? memory
                             : std::make_shared<const TokenMemory>(memory->Joined(*own));
  }
  if (memory->empty()) {
    return nullptr;
  }
  return std::make_unique<inference::MemoryReader>(parameters_, std::move(memory), runner_);
}

LessonMemoriesStatus LessonMemories::status() const {
  const MutexLock lock(mutex_);
  LessonMemoriesStatus status{.lessons = held_.size()};
  for (const auto& [user, memories] : memories_) {
    status.users += user.empty() ? 0 : 1;
    status.entries += memories.causal->entries();
    status.bytes += memories.masked->bytes() + memories.causal->bytes();
  }
  return status;
}

}  // namespace ruvd::serving
