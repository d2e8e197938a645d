// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "storage/db/database.h"

namespace ruvd::campaign {

// The task of a child process. Its folder holds "store" and "seal.key".
struct Task {
  // write, verify, power, full, make, read; pattern-write, pattern-verify, pattern-power
  std::string kind;
  std::string folder;
  uint64_t seed = 0;            // of the workload
  uint64_t round = 0;           // seeds everything else
  std::vector<uint64_t> floor;  // changes that must be in the store, by writer
};

// Convert a task to command-line arguments behind the program's name, and back.
std::vector<std::string> ArgumentsOf(const Task& task);
bool ParseTask(const std::vector<std::string>& arguments, Task* task);

// What a child found. It is the last line of the child's output.
struct Outcome {
  std::vector<uint64_t> counts;  // changes in the store, by writer; empty where it did not open
  uint64_t acknowledged = 0;     // in this round
  uint64_t lost = 0;             // acknowledged changes that are missing
  uint64_t wrong = 0;
  uint64_t errors = 0;
  bool reported = false;  // the store reported a loss
  std::string note;
};
std::string FormatOutcome(const Outcome& outcome);
bool ParseOutcome(const std::string& line, Outcome* outcome);

// Opens the task's store, on `files` where given; memtables are of the given size, or of one that
// the round chooses.
absl::StatusOr<std::unique_ptr<storage::Database>> OpenStore(
    const Task& task, Random& random, std::shared_ptr<rocksdb::FileSystem> files = nullptr,
    size_t memtable_bytes = 0);
Outcome Failed(const absl::Status& status, std::string_view during);
// Prints what was found; returns the task's exit code.
int Finish(const Outcome& outcome);

// Runs the task in this process and returns its exit code.
int RunTask(const Task& task);

}  // namespace ruvd::campaign
