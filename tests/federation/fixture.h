// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A small cluster's identities and content for tests: one authority, nodes by number.

#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "federation/core/gossip_core.h"
#include "privacy/identity/admission.h"

namespace ruvd::test {

inline constexpr int64_t kWallStart = 1'800'000'000'000;
inline constexpr int64_t kDayMillis = 24LL * 3600 * 1000;
inline constexpr char kTarget[] = "blk.0.attn_output.weight";

inline federation::Instant At(Duration since_start) {
  return {TimePoint(since_start),
          kWallStart + std::chrono::duration_cast<std::chrono::milliseconds>(since_start).count()};
}

inline privacy::KeySeed SeedOf(uint64_t number) {
  privacy::KeySeed seed{};
  std::memcpy(seed.data(), &number, sizeof(number));
  seed[31] = 0x5a;
  return seed;
}

inline privacy::ClusterAuthority Authority(uint64_t number = 1000) {
  return privacy::ClusterAuthority::FromSeed(SeedOf(number));
}

inline privacy::AdmissionCert CertificateFor(
    const privacy::NodeKey& key, const std::string& name,
    const privacy::ClusterAuthority& authority = Authority(),
    uint32_t roles = privacy::roles::kMember, int64_t not_before_ms = kWallStart - kDayMillis,
    int64_t not_after_ms = kWallStart + 20 * kDayMillis) {
  return *authority.Issue({.node_key = key.public_key(),
                           .name = name,
                           .roles = roles,
                           .not_before_ms = not_before_ms,
                           .not_after_ms = not_after_ms,
                           .serial = 1});
}

inline federation::UpdateRules Updates() {
  return {
      .rank_of_target = {{kTarget, 4}, {"blk.1.ffn_down.weight", 8}}, .banks = 2, .max_norm = 10.0};
}

inline federation::PatternRules Patterns() {
  return {.dimension = 16, .norm_tolerance = 1e-3, .cores = Updates()};
}

inline std::string AddressOf(size_t node) {
  return fmt::format("node-{}:7000", node);
}

inline federation::GossipConfig ConfigFor(const privacy::NodeKey& key, size_t number) {
  federation::GossipConfig config;
  config.certificate = CertificateFor(key, fmt::format("node-{}", number));
  config.model_hash.fill(0x11);
  config.frame_id.fill(0x22);
  config.listen_address = AddressOf(number);
  config.pattern_rules = Patterns();
  return config;
}

inline federation::GossipCore::Entropy EntropyOf(uint64_t seed) {
  return [random = Random(seed)](std::span<uint8_t> out) mutable {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random.Next());
    }
  };
}

// Cores as patterns have them.
inline std::vector<federation::CoreDelta> SomeCores(
    uint64_t seed, const federation::UpdateRules& rules = Updates()) {
  Random random(seed);
  std::vector<federation::CoreDelta> cores;
  for (const auto& [target, rank] : rules.rank_of_target) {
    std::vector<float> values(size_t{rank} * rank);
    for (float& value : values) {
      value = static_cast<float>(0.1 * random.Normal());
    }
    cores.push_back(
        {.target = target, .bank = 1, .rank = rank, .values = inference::ToGrid(values)});
  }
  return cores;
}

inline federation::SharedPattern PatternOf(uint64_t seed) {
  Random random(seed);
  federation::SharedPattern pattern;
  for (uint8_t& byte : pattern.id) {
    byte = static_cast<uint8_t>(random.Next());
  }
  pattern.task = "chat";
  pattern.quality = 0.75F;
  pattern.examples = 3;
  pattern.created_ms = kWallStart;
  double square = 0;
  for (uint32_t i = 0; i < Patterns().dimension; ++i) {
    pattern.centroid.push_back(static_cast<float>(random.Normal()));
    square += double{pattern.centroid.back()} * pattern.centroid.back();
  }
  for (float& value : pattern.centroid) {
    value = static_cast<float>(value / std::sqrt(square));
  }
  return pattern;
}

}  // namespace ruvd::test
