// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace ruvd::storage {

class Database;

// The result of a walk over a store.
struct StoreReport {
  struct Family {
    std::string_view name;
    uint64_t rows = 0;
    uint64_t bytes = 0;   // bytes of keys and stored values
    uint64_t erased = 0;  // rows whose data key was destroyed; Compact removes them
    uint64_t broken = 0;  // rows that do not open
  };
  std::vector<Family> families;       // all families, in order of their numbers
  std::vector<std::string> problems;  // the first kMaxProblems problems
  uint64_t problem_count = 0;

  static constexpr size_t kMaxProblems = 100;
  void AddProblem(std::string problem) {
    ++problem_count;
    if (problems.size() < kMaxProblems) {
      problems.push_back(std::move(problem));
    }
  }
  bool ok() const { return problem_count == 0; }
};

// The check that one store on top of the database makes of its own rows: references between
// families, chains, graphs. It adds what it finds to the report; it returns an error only when it
// could not look.
struct StoreCheck {
  std::string_view name;
  std::function<absl::Status(Database& database, StoreReport* report)> run;
};

}  // namespace ruvd::storage
