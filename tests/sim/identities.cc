// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/identities.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "tests/federation/fixture.h"
#include "tests/rotated_key.h"

namespace ruvd::test {
namespace {

// The core of this target, which some patterns have, is of 256 x 256 values of eight bits, which
// are 66 kB.
constexpr char kLargeTarget[] = "blk.2.ffn_down.weight";
constexpr uint32_t kLargeRank = 256;

struct Pool {
  std::deque<Identity> identities;
  std::map<size_t, Identity> rotated;
  std::map<privacy::NodeId, size_t> numbers;
};

Pool& ThePool() {
  static Pool pool;
  return pool;
}

}  // namespace

const Identity& IdentityOf(size_t number) {
  Pool& pool = ThePool();
  while (pool.identities.size() <= number) {
    const size_t next = pool.identities.size();
    privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(next + 1'000'000));
    federation::GossipConfig config = ConfigFor(key, next);
    config.pattern_rules.cores.rank_of_target[kLargeTarget] = kLargeRank;
    pool.numbers[key.id()] = next;
    pool.identities.push_back({.key = std::move(key), .config = std::move(config)});
  }
  return pool.identities[number];
}

const Identity& RotatedIdentityOf(size_t number) {
  std::map<size_t, Identity>& rotated = ThePool().rotated;
  const auto found = rotated.find(number);
  if (found != rotated.end()) {
    return found->second;
  }
  const Identity& former = IdentityOf(number);
  privacy::NodeKey key = RotatedKey(SeedOf(number + 1'000'000), SeedOf(number + 2'000'000));
  federation::GossipConfig config = former.config;
  config.certificate = Authority()
                           .Issue({.node_key = key.public_key(),
                                   .node_id = key.id(),
                                   .key_epoch = key.epoch(),
                                   .name = former.config.certificate.name,
                                   .roles = former.config.certificate.roles,
                                   .not_before_ms = former.config.certificate.not_before_ms,
                                   .not_after_ms = former.config.certificate.not_after_ms,
                                   .serial = 2})
                           .value();
  return rotated.emplace(number, Identity{.key = std::move(key), .config = std::move(config)})
      .first->second;
}

std::optional<size_t> NumberOf(const privacy::NodeId& id) {
  const auto found = ThePool().numbers.find(id);
  return found == ThePool().numbers.end() ? std::nullopt : std::optional(found->second);
}

federation::SharedPattern WorldPattern(uint64_t content_seed, bool large) {
  federation::SharedPattern pattern = PatternOf(content_seed);
  if (large) {
    Random random(content_seed);
    std::vector<float> values(size_t{kLargeRank} * kLargeRank);
    for (float& value : values) {
      value = static_cast<float>(0.02 * random.Uniform());
    }
    pattern.cores.push_back({.target = kLargeTarget,
                             .bank = 0,
                             .rank = kLargeRank,
                             .values = inference::ToGrid(values)});
  }
  return pattern;
}

}  // namespace ruvd::test
