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

// What a walk over a store found.
struct StoreReport {
  struct Family {
    std::string_view name;
    uint64_t rows = 0;
    uint64_t bytes = 0;   // of keys and stored values
    uint64_t erased = 0;  // rows whose data key was destroyed; Compact removes them
    uint64_t broken = 0;  // rows that do not open
  };
  std::vector<Family> families;       // all, in order of their numbers
  std::vector<std::string> problems;  // the first kMaxProblems
  uint64_t problem_count = 0;

  static constexpr size_t kMaxProblems = 100;
  void Complain(std::string problem) {
    ++problem_count;
    if (problems.size() < kMaxProblems) {
      problems.push_back(std::move(problem));
    }
  }
  bool ok() const { return problem_count == 0; }
};

// What one store on top of the database can say of its own rows: references between families,
// chains, graphs. Complains in the report; an error is for what kept it from looking.
struct StoreCheck {
  std::string_view name;
  std::function<absl::Status(Database& database, StoreReport* report)> run;
};

}  // namespace ruvd::storage
