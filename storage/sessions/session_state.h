// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ruvd::storage {

// The place of a conversation's keys and values: in memory, in memory but quantised, or on disk.
enum class CacheTier : uint8_t { kHot = 1, kWarm = 2, kCold = 3 };

// The three forms of quantised storage: only the last tokens in full precision, all quantised, or
// both.
struct HighPrecisionTail {
  uint32_t tail_length = 0;  // tokens
  std::string precision;     // "fp16"
  bool operator==(const HighPrecisionTail&) const = default;
};
struct QuantizedStore {
  std::string precision;  // "q8", "q4"
  float compression_ratio = 0;
  bool operator==(const QuantizedStore&) const = default;
};
struct HybridCache {
  uint32_t tail_length = 0;  // tokens
  std::string tail_precision;
  std::string store_precision;
  bool operator==(const HybridCache&) const = default;
};
// The empty alternative means full precision throughout.
using CacheQuantization =
    std::variant<std::monostate, HighPrecisionTail, QuantizedStore, HybridCache>;

struct KvCacheReference {
  CacheTier tier = CacheTier::kHot;
  std::string location;  // chosen by the owner: a page table, a file
  uint64_t cached_tokens = 0;
  CacheQuantization quantization;
  int64_t created_ms = 0;
  bool operator==(const KvCacheReference&) const = default;
};

// A conversation between its turns. Texts are UTF-8. It has what the next turn needs except the
// words, which are in the trajectories that history_reference names.
struct SessionState {
  std::string session_id;                // 1 to limits::kMaxStoredSessionIdBytes bytes
  std::optional<std::string> user_id;    // user or tenant; selects the key that seals the row
  std::vector<float> context_embedding;  // of the last turn whose prompt was embedded
  std::string embedded_by;               // id of the model package that made it
  std::optional<KvCacheReference> kv_cache;
  std::optional<std::string> active_adapter;
  uint32_t turn_count = 0;
  std::string history_reference;  // the response id of the last turn
  int64_t created_ms = 0;         // UTC, not negative, here and below
  int64_t last_active_ms = 0;
  std::map<std::string, std::string> metadata;
  bool operator==(const SessionState&) const = default;
};

}  // namespace ruvd::storage
