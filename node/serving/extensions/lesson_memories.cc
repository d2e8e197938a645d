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

std::vector<std::string> LessonMemories::Add(RememberedLesson lesson) {
  const MutexLock lock(mutex_);
  if (forgotten_.IsErased(lesson.user_id, lesson.read)) {
    return {};
  }
  if (held_.contains(lesson.name)) {
    Remove(std::span(&lesson.name, 1));
  }
  Memories& own = memories_[lesson.user_id];
  Held held{.user_id = lesson.user_id, .order = ++last_order_};
  if (lesson.masked != nullptr) {
    own.masked = own.masked->With(lesson.masked);
    held.tokens = lesson.masked->size();
  }
  if (lesson.causal != nullptr) {
    own.causal = own.causal->With(lesson.causal);
    held.tokens = std::max(held.tokens, lesson.causal->size());
  }
  tokens_ += held.tokens;
  by_age_.emplace(held.order, lesson.name);
  held_.emplace(std::move(lesson.name), std::move(held));
  std::vector<std::string> displaced;
  while (tokens_ > max_tokens_ && held_.size() > 1) {
    displaced.push_back(by_age_.begin()->second);
    Remove(std::span(&displaced.back(), 1));
  }
  return displaced;
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

std::set<std::string> LessonMemories::Names() const {
  const MutexLock lock(mutex_);
  std::set<std::string> names;
  for (const auto& [name, held] : held_) {
    names.insert(name);
  }
  return names;
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
