// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/caller_turns.h"

#include <algorithm>
#include <utility>

#include "node/limits.h"

namespace ruvd::actors {
namespace {

bool MayRun(const TaskOfCaller& task, size_t running_of_caller, size_t running, size_t scores) {
  if (running_of_caller == 0) {
    return running < limits::kMaxRunningForNewCallers;
  }
  return running < limits::kMaxRunningGenerations &&
         (!task.is_score || scores < limits::kMaxRunningScores);
}

}  // namespace

std::optional<size_t> CallerTurns::Next(std::span<const TaskOfCaller> running,
                                        std::span<const TaskOfCaller> waiting) {
  const auto scores = static_cast<size_t>(std::ranges::count_if(running, &TaskOfCaller::is_score));
  std::map<std::string_view, size_t> running_of;
  for (const TaskOfCaller& task : running) {
    ++running_of[task.caller];
  }
  // The number of running tasks, and then the time of the last turn; less comes first.
  std::optional<std::pair<size_t, uint64_t>> best;
  std::optional<size_t> next;
  std::map<std::string, uint64_t, std::less<>> kept;
  // A caller that comes, or comes again, stands behind those that wait already. Otherwise some that
  // come and go could keep another one's task waiting for ever.
  const auto last_turn = [this](std::string_view caller) {
    const auto found = last_turn_.find(caller);
    return found == last_turn_.end() ? turns_ : found->second;
  };
  for (const TaskOfCaller& task : running) {
    kept.emplace(task.caller, last_turn(task.caller));
  }
  for (size_t i = 0; i < waiting.size(); ++i) {
    const std::string_view caller = waiting[i].caller;
    const std::pair rank(running_of[caller], last_turn(caller));
    kept.emplace(caller, rank.second);
    if (MayRun(waiting[i], rank.first, running.size(), scores) && (!best || rank < *best)) {
      best = rank;
      next = i;
    }
  }
  last_turn_ = std::move(kept);
  if (next) {
    last_turn_.insert_or_assign(std::string(waiting[*next].caller), ++turns_);
  }
  return next;
}

}  // namespace ruvd::actors
