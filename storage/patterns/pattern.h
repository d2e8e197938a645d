// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace ruvd {

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
  std::string adapter_name;
  uint32_t adapter_version = 0;
  std::string payload;  // the adapter's bytes, opaque to the store
};

}  // namespace ruvd
