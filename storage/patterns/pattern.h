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

// The permitted use of a pattern outside this node. The numbers equal ruvd.pattern.v1.SharingTier.
enum class SharingTier : uint8_t {
  kUnspecified = 0,  // refused by the store
  kPrivate = 1,
  kMasked = 2,
  kDp = 3,
  kPublic = 4,
};

// Whether requests get the adapter of a pattern. A pattern of a peer serves only after a trial on
// this node. The numbers are stored in rows.
enum class PatternStanding : uint8_t {
  kOwn = 0,  // learned here, so it serves
  kTrial = 1,
  kServing = 2,  // passed the trial, or an operator stored it
  // Dropped: the row has neither centroid nor adapter any more. Only a newer version of the first
  // three gets another trial.
  kLessonsWorse = 3,      // own lessons near it got worse
  kGeneralTextWorse = 4,  // general text got worse
  kUnusable = 5,          // its adapter does not fit the model
  kRatedBadly = 6,        // users rated completions that used it badly
  kNoAdapter = 7,         // there is nothing to serve
};
inline constexpr PatternStanding kLastStanding = PatternStanding::kNoAdapter;

inline bool Serves(PatternStanding standing) {
  return standing == PatternStanding::kOwn || standing == PatternStanding::kServing;
}
inline bool IsRefused(PatternStanding standing) {
  return standing >= PatternStanding::kLessonsWorse && standing <= PatternStanding::kRatedBadly;
}

// The node's memory of a cluster of good completions: its place in embedding space and the adapter
// that helps there.
struct Pattern {
  PatternId id{};
  std::vector<float> embedding;  // mean-pooled hidden states of the prompts, `dimension` values
  uint32_t bank = 0;             // timestep bank of the adapter, from 0 (low t)
  std::string task;
  float quality = 0;  // mean reward of the trajectories behind it, 0 to 1
  SharingTier tier = SharingTier::kPrivate;
  PatternStanding standing = PatternStanding::kOwn;
  uint32_t uses = 0;      // how often it was retrieved
  uint32_t examples = 0;  // trajectories behind it
  Digest origin{};        // id of the node that made it
  int64_t created_ms = 0;
  int64_t updated_ms = 0;
  int64_t last_used_ms = 0;  // 0: never retrieved
  int64_t expires_ms = 0;    // from this time on it is not found, whatever its value; 0: never
  // The time of the last change, later than every change that the node knew then. PatternStore sets
  // it.
  HybridTime stamp;
  std::string adapter_name;
  uint32_t adapter_version = 0;
  std::string payload;  // the adapter's bytes, opaque to the store
};

// The kinds of change of a pattern. The numbers are stored in rows.
enum class PatternChangeKind : uint8_t {
  kPut = 1,     // stored, replaced or given another tier
  kDelete = 2,  // on request
  kExpire = 3,
  kEvict = 4,  // to make room for others that are worth more
};

struct PatternChange {
  uint64_t sequence = 0;  // from 1; numbers of changes in other collections are missing
  PatternChangeKind kind = PatternChangeKind::kPut;
  PatternId id{};
  HybridTime time;
};

}  // namespace ruvd::storage
