// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/hybrid_clock.h"

namespace ruvd::storage {

using PatternId = std::array<uint8_t, 16>;

// What a pattern may be used for outside this node. Numbers equal ruvd.pattern.v1.SharingTier.
enum class SharingTier : uint8_t {
  kUnspecified = 0,  // refused by the store
  kPrivate = 1,
  kMasked = 2,
  kDp = 3,
  kPublic = 4,
};

// What the node remembers of a cluster of good completions: where in embedding space it lies and
// which adapter helps there.
struct Pattern {
  PatternId id{};
  std::vector<float> embedding;  // mean-pooled hidden states of the prompts, `dimension` values
  uint32_t bank = 0;             // timestep bank of the adapter, from 0 (low t)
  std::string task;
  float quality = 0;  // mean reward of the trajectories behind it, 0 to 1
  SharingTier tier = SharingTier::kPrivate;
  uint32_t uses = 0;      // times it was retrieved
  uint32_t examples = 0;  // trajectories behind it
  Digest origin{};        // id of the node that made it
  int64_t created_ms = 0;
  int64_t updated_ms = 0;
  int64_t last_used_ms = 0;  // 0: never retrieved
  int64_t expires_ms = 0;    // not found from then on, whatever its value; 0: never
  // Of the last change, later than every change the node knew of then. PatternStore sets it.
  HybridTime stamp;
  std::string adapter_name;
  uint32_t adapter_version = 0;
  std::string payload;  // the adapter's bytes, opaque to the store
};

// What happened to a pattern. Numbers are those of stored rows.
enum class PatternChangeKind : uint8_t {
  kPut = 1,     // stored, replaced or given another tier
  kDelete = 2,  // on request
  kExpire = 3,
  kEvict = 4,  // for others that are worth more
};

struct PatternChange {
  uint64_t sequence = 0;  // from 1; numbers of other collections' changes are left out
  PatternChangeKind kind = PatternChangeKind::kPut;
  PatternId id{};
  HybridTime time;
};

}  // namespace ruvd::storage
