// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/lesson_memories.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"

namespace ruvd::serving {

uint64_t RunIdOf(std::string_view lesson_name) {
  const Digest digest = Sha256(lesson_name);
  uint64_t id = 0;
  std::memcpy(&id, digest.data(), sizeof(id));
  return id;
}

void LessonMemories::Note(const RememberedLesson& lesson) {
  Held held{.user_id = lesson.user_id, .source = lesson.source, .order = ++last_order_};
  for (const auto& run : {lesson.masked, lesson.causal}) {
    held.tokens = std::max(held.tokens, run == nullptr ? 0 : run->size());
  }
  tokens_ += held.tokens;
  by_age_.emplace(held.order, lesson.name);
  held_.emplace(lesson.name, std::move(held));
}

std::vector<std::string> LessonMemories::MakeRoom() {
  std::vector<std::string> displaced;
  size_t left = tokens_;
  for (auto oldest = by_age_.begin(); left > max_tokens_ && displaced.size() + 1 < by_age_.size();
       ++oldest) {
    displaced.push_back(oldest->second);
    left -= held_.at(oldest->second).tokens;
  }
  Remove(displaced);
  return displaced;
}

std::vector<std::string> LessonMemories::Add(RememberedLesson lesson) {
  const MutexLock lock(mutex_);
  if (forgotten_.IsErased(lesson.user_id, lesson.read)) {
    return {};
  }
  if (held_.contains(lesson.name)) {
    Remove(std::span(&lesson.name, 1));
  }
  Memories& own = memories_[lesson.user_id];
  if (lesson.masked != nullptr) {
    own.masked = own.masked->With(lesson.masked);
  }
  if (lesson.causal != nullptr) {
    own.causal = own.causal->With(lesson.causal);
  }
  Note(lesson);
  return MakeRoom();
}

std::vector<std::string> LessonMemories::AddAll(std::vector<RememberedLesson> lessons) {
  using Runs = std::vector<std::shared_ptr<const inference::MemoryRun>>;
  const MutexLock lock(mutex_);
  std::map<std::string, std::pair<Runs, Runs>> runs;  // by user
  for (RememberedLesson& lesson : lessons) {
    if (forgotten_.IsErased(lesson.user_id, lesson.read) || held_.contains(lesson.name)) {
      continue;
    }
    Note(lesson);
    auto& [masked, causal] = runs[lesson.user_id];
    if (lesson.masked != nullptr) {
      masked.push_back(std::move(lesson.masked));
    }
    if (lesson.causal != nullptr) {
      causal.push_back(std::move(lesson.causal));
    }
  }
  for (const auto& [user_id, own] : runs) {
    Memories& memories = memories_[user_id];
    memories.masked = std::make_shared<const inference::TokenMemory>(
        memories.masked->Joined(inference::TokenMemory(own.first)));
    memories.causal = std::make_shared<const inference::TokenMemory>(
        memories.causal->Joined(inference::TokenMemory(own.second)));
  }
  return MakeRoom();
}

void LessonMemories::Remove(std::span<const std::string> names) {
  std::map<std::string, std::set<uint64_t>> runs;  // by user
  for (const std::string& name : names) {
    const auto held = held_.find(name);
    runs[held->second.user_id].insert(RunIdOf(name));
    tokens_ -= held->second.tokens;
    by_age_.erase(held->second.order);
    held_.erase(held);
  }
  for (const auto& [user_id, ids] : runs) {
    const auto own = memories_.find(user_id);
    own->second.masked = own->second.masked->Without(ids);
    own->second.causal = own->second.causal->Without(ids);
    if (own->second.masked->empty() && own->second.causal->empty()) {
      memories_.erase(own);
    }
  }
}

void LessonMemories::Forget(const std::set<std::string>& names) {
  const MutexLock lock(mutex_);
  std::vector<std::string> held;
  for (const std::string& name : names) {
    if (held_.contains(name)) {
      held.push_back(name);
    }
  }
  Remove(held);
}

void LessonMemories::ForgetUser(std::string_view user_id) {
  const MutexLock lock(mutex_);
  forgotten_.Add(user_id, clock_.Now());
  std::vector<std::string> own;
  for (const auto& [name, held] : held_) {
    if (held.user_id == user_id) {
      own.push_back(name);
    }
  }
  Remove(own);
}

std::map<std::string, Digest> LessonMemories::Names() const {
  const MutexLock lock(mutex_);
  std::map<std::string, Digest> names;
  for (const auto& [name, held] : held_) {
    names.emplace(name, held.source);
  }
  return names;
}

bool LessonMemories::NearlyFull() const {
  const MutexLock lock(mutex_);
  return tokens_ >= max_tokens_ / 5 * 4;
}

std::shared_ptr<const inference::TokenMemory> LessonMemories::MemoryOf(std::string_view user_id,
                                                                       bool causal) const {
  const auto found = memories_.find(user_id);
  if (found == memories_.end()) {
    return nullptr;
  }
  return causal ? found->second.causal : found->second.masked;
}

std::unique_ptr<inference::MemoryReader> LessonMemories::ReaderFor(std::string_view user_id,
                                                                   bool causal) const {
  const MutexLock lock(mutex_);
  std::shared_ptr<const inference::TokenMemory> memory = MemoryOf("", causal);
  if (const auto own = user_id.empty() ? nullptr : MemoryOf(user_id, causal); own != nullptr) {
    memory = memory == nullptr
                 ? own
                 : std::make_shared<const inference::TokenMemory>(memory->Joined(*own));
  }
  if (memory == nullptr || memory->empty()) {
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
