// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "storage/db/database.h"

namespace ruvd::campaign {

inline constexpr int kWriters = 4;

// A writer's change number `n`, from 1. It depends on seed, writer and number alone, so the number
// of changes in a store determines every byte that must be in it.
struct Change {
  std::vector<std::pair<storage::ColumnFamily, std::string>>
      puts;  // two rows of different families
  std::vector<std::pair<storage::ColumnFamily, std::string>> deletes;  // sometimes one
  std::optional<storage::KeyScope> scope;
};
Change MakeChange(uint64_t seed, int writer, uint64_t n);
// The change as one batch, with the writer's count.
storage::Batch BatchOf(uint64_t seed, int writer, uint64_t n);

// Returns what change `n` stores in a row.
std::string ValueOf(uint64_t seed, int writer, uint64_t n, storage::ColumnFamily family);

// What a store must hold for a writer after its first n changes: the number of the change that
// wrote each row last.
class Model {
 public:
  Model(uint64_t seed, int writer) : seed_(seed), writer_(writer) {}
  void AdvanceTo(uint64_t n);

  using Row = std::pair<storage::ColumnFamily, std::string>;
  using Rows = std::map<Row, uint64_t>;
  const Rows& rows() const { return rows_; }
  // Returns every change that wrote the row, the last one included.
  std::span<const uint64_t> WritesOf(const Row& row) const;
  uint64_t seed() const { return seed_; }
  int writer() const { return writer_; }

 private:
  uint64_t seed_;
  int writer_;
  uint64_t n_ = 0;
  Rows rows_;
  std::map<Row, std::vector<uint64_t>> history_;
};

// Returns how many changes of a writer the store holds. Fails if the count cannot be read.
absl::StatusOr<uint64_t> CountOf(const storage::Database& database, int writer);

// What is wrong with a store; empty where every row is as it must be.
struct Verdict {
  std::vector<uint64_t> counts;  // by writer
  uint64_t wrong = 0;            // rows with another value, missing, or too many
  uint64_t errors = 0;           // rows that read as an error
  std::string example;           // an example of what is wrong
};
// Compares all rows of all writers with the model of as many changes as the store holds.
absl::StatusOr<Verdict> Check(const storage::Database& database, uint64_t seed);

// Checks row by row against the known counts. This is for damaged stores, where a read may fail but
// must never return wrong data. A store that reported the loss of its last changes may show an
// earlier value of a row, or none, but nothing that was never written to it.
Verdict CheckReads(const storage::Database& database, uint64_t seed,
                   const std::vector<uint64_t>& counts, bool loss_reported);

}  // namespace ruvd::campaign
