// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "inference/memory/memory_segment.h"

namespace ruvd::inference {

// What a node remembers for one user: the runs of its lessons, in the order in which they came. An
// instance is immutable, so a completion keeps the memory that it began with; a change makes a new
// memory that shares the unchanged segments. A memory without a run reads, bit for bit, as the one
// that never had it: the results of a scan do not depend on how runs are divided into segments.
// Thread-safe.
class TokenMemory {
 public:
  TokenMemory() = default;
  // Runs of equal dimension; a run with the id of an earlier one replaces it.
  explicit TokenMemory(std::span<const std::shared_ptr<const MemoryRun>> runs);

  // Returns a memory with `run` after the others, in place of one with the same id. A run without
  // an entry changes nothing but that.
  std::shared_ptr<const TokenMemory> With(const std::shared_ptr<const MemoryRun>& run) const;
  // Returns a memory without the runs of these ids.
  std::shared_ptr<const TokenMemory> Without(const std::set<uint64_t>& ids) const;
  std::shared_ptr<const TokenMemory> Without(uint64_t id) const { return Without(std::set{id}); }
  bool Has(uint64_t id) const;
  // Returns a memory of the runs of both, those of `other` last. Their ids must differ.
  TokenMemory Joined(const TokenMemory& other) const;

  bool empty() const { return entries_ == 0; }
  size_t runs() const { return runs_; }
  size_t entries() const { return entries_; }
  // Bytes of all segments, including those shared with other memories
  size_t bytes() const;
  std::span<const std::shared_ptr<const MemorySegment>> segments() const { return segments_; }

  // How often the runs have a token, contexts included
  size_t CountOf(TokenId token) const;
  // Tokens of all runs, contexts included
  size_t tokens() const { return tokens_; }
  // Whether a run has `right` directly after `left`
  bool HasPair(TokenId left, TokenId right) const;

 private:
  void Append(const std::shared_ptr<const MemoryRun>& run);
  // Merges the last segments until each is at least twice as large as the next one.
  void MergeLast();
  void Count();

  std::vector<std::shared_ptr<const MemorySegment>> segments_;
  size_t runs_ = 0;
  size_t entries_ = 0;
  size_t tokens_ = 0;
};

}  // namespace ruvd::inference
