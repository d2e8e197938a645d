// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What the seed of a world picks.

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "node/log/log_setup.h"
#include "tests/sim/world.h"

namespace ruvd::test {
namespace {

// The share of worlds that learn, among those whose seed may choose.
constexpr double kLearningShare = 0.25;
// The share of worlds with masked sums, among those that learn and whose seed may choose.
constexpr double kMaskedShare = 0.33;
constexpr size_t kMaxItemsPerWorld = 40;

// What nodes log about their rounds is for operators.
void SilenceLog() {
  static const bool silent = [] {
    config::NodeConfig::LogSection section;
    section.level = "off";
    SetUpLogging(section, "world");
    return true;
  }();
  (void)silent;
}

}  // namespace

void World::PickOptions() {
  if (options_.faults) {
    picked_faults_ = *options_.faults;
  } else {
    for (const Fault fault : AllFaults()) {
      if (random_.Bernoulli(0.5)) {
        picked_faults_.insert(fault);
      }
    }
  }
  if (!options_.loss) {
    constexpr std::array<double, 4> kLosses = {0, 0.01, 0.05, 0.2};
    options_.loss = kLosses[random_.Below(kLosses.size())];
  }
  picks_byzantine_ = !options_.byzantine;
  if (!options_.byzantine) {
    options_.byzantine.emplace();
    const auto kinds = PickedAdversaries();
    for (uint64_t i = random_.Below(3); i > 0; --i) {
      options_.byzantine->push_back(
          {.kind = kinds[random_.Below(kinds.size())], .share = 0.05 + 0.1 * random_.Uniform()});
    }
  }
  const bool lies = std::ranges::any_of(*options_.byzantine,
                                        [](const ByzantineShare& entry) {
                                          return LiesAboutLearning(entry.kind);
                                        }) ||
                    options_.masked.value_or(false);
  if (lies || !options_.learning) {
    options_.learning = lies || random_.Bernoulli(kLearningShare);
  }
  PickMasked();
  plan_ = Learning::PlanOf(options_.defect == SeededDefect::kTrustingRule ? "mean" : "default",
                           *options_.masked);
  if (*options_.learning) {
    learning_ = std::make_unique<Learning>(options_.nodes, random_.Next(), plan_);
  }
  if (!options_.items) {
    options_.items = std::min(2 * options_.nodes, kMaxItemsPerWorld);
  }
  network_.conditions().loss = *options_.loss;
  network_.conditions().duplication = picked_faults_.contains(Fault::kDuplication) ? 5e-4 : 0;
}

void World::PickMasked() {
  const bool lies = std::ranges::any_of(
      *options_.byzantine, [](const ByzantineShare& entry) { return LiesInShares(entry.kind); });
  if (lies || !options_.masked) {
    options_.masked = lies || (*options_.learning && masked_random_.Bernoulli(kMaskedShare));
  }
  if (*options_.masked && picks_byzantine_ && masked_random_.Bernoulli(0.5)) {
    options_.byzantine->push_back({.kind = AdversaryKind::kFalseShare, .share = 0.05});
  }
  if (*options_.learning) {
    SilenceLog();
  }
  constexpr std::array<double, 3> kShares = {0.5, 0.8, 1};
  masked_share_ = *options_.masked ? kShares[masked_random_.Below(kShares.size())] : 0;
}

bool World::PicksMasked(const std::optional<AdversaryKind>& kind, size_t node) {
  const bool picked = *options_.masked && masked_ < Learning::kMaskedNodes &&
                      (!kind || LiesInShares(*kind)) &&
                      (kind || revoked_ == node || masked_random_.Bernoulli(masked_share_));
  masked_ += picked ? 1 : 0;
  share_liars_ += picked && kind ? 1 : 0;
  return picked;
}

std::vector<std::optional<AdversaryKind>> World::PickAdversaries() {
  std::vector<std::optional<AdversaryKind>> kinds(options_.nodes);
  std::vector<size_t> order(options_.nodes);
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  random_.Shuffle(std::span<size_t>(order));
  size_t next = 0;
  for (const ByzantineShare& entry : *options_.byzantine) {
    auto count = static_cast<size_t>(entry.share * static_cast<double>(options_.nodes));
    count = entry.share > 0 ? std::max<size_t>(count, 1) : 0;
    for (; count > 0 && next + 2 < order.size(); --count) {
      kinds[order[next++]] = entry.kind;
    }
  }
  if (learning_ && picked_faults_.contains(Fault::kRevocation) && next + 2 < order.size() &&
      order[next] < Learning::kNodes) {
    revoked_ = order[next];
  }
  return kinds;
}

}  // namespace ruvd::test
