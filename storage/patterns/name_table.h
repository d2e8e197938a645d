// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/status.h"

namespace ruvd::storage::patterns {

// Gives numbers to the names that rows hold: dense, from 0, used for filters of the vector index. A
// number is used again when no row holds its name any more. Not thread-safe.
template <typename Name>
class NameTable {
 public:
  // Returns the number of the name and counts one more holder.
  uint32_t Acquire(const Name& name) {
    const auto [entry, added] = entries_.try_emplace(name);
    if (added) {
      if (free_.empty()) {
        free_.push_back(static_cast<uint32_t>(by_number_.size()));
        by_number_.emplace_back();
      }
      entry->second.number = free_.back();
      free_.pop_back();
      by_number_[entry->second.number] = entry;
    }
    ++entry->second.holders;
    return entry->second.number;
  }

  // Counts one holder less.
  void Release(uint32_t number) {
    const auto entry = by_number_[number];
    RUVD_CHECK(entry->second.holders > 0);
    if (--entry->second.holders == 0) {
      free_.push_back(number);
      entries_.erase(entry);
    }
  }

  std::optional<uint32_t> Find(const Name& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? std::nullopt : std::optional(found->second.number);
  }

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    uint32_t number = 0;
    size_t holders = 0;
  };
  std::map<Name, Entry> entries_;
  std::vector<typename std::map<Name, Entry>::iterator> by_number_;
  std::vector<uint32_t> free_;
};

}  // namespace ruvd::storage::patterns
