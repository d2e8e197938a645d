// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ruvd::actors {

// What the order of turns depends on.
struct TaskOfCaller {
  std::string_view caller;
  bool is_score = false;
};

// Chooses the waiting task that runs next: one of the caller with the fewest running tasks, among
// such callers of the one whose last task began longest ago, and of that caller the task that waits
// longest. A caller without a running task finds a place where others find none, so that long
// completions of one caller hold up no other caller. Belongs to one actor.
class CallerTurns {
 public:
  // Returns the position in `waiting` of the task that runs next, and notes that it does; nullopt
  // if none may run beside `running`. `waiting` is in the order of arrival.
  std::optional<size_t> Next(std::span<const TaskOfCaller> running,
                             std::span<const TaskOfCaller> waiting);

 private:
  // When the last task of each caller began, for callers that have a task
  std::map<std::string, uint64_t, std::less<>> last_turn_;
  uint64_t turns_ = 0;
};

}  // namespace ruvd::actors
