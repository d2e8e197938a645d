// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Nodes with masked rounds in sequence, numbered by the clock.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "federation/masked/masked_rounds.h"
#include "tests/federation/masked_bus.h"

namespace ruvd::test {

inline federation::MaskedRoundsConfig ConfigOf(size_t node, uint64_t seed = 1) {
  return {.cluster = {5},
          .layout = SmallMaskLayout(),
          .self = MaskedBus::IdOf(node),
          .random = MaskEntropy(1000 * (seed - 1) + node + 1)};
}

// Nodes that receive each other's items at once.
class MaskedRoundsTest : public testing::Test {
 protected:
  static constexpr size_t kNodes = 5;
  static constexpr int64_t kPeriod = limits::kMaskedPeriodMillis;
  static constexpr int64_t kFirst = 7 * kPeriod;

  struct Node {
    std::optional<federation::MaskedRounds> rounds;
    bool willing = true;
    bool answers = true;  // MaskInputWanted
    bool pays = true;     // MaskPaymentWanted
    uint64_t charges = 0;
    size_t asked = 0;  // whether it takes part
    std::map<uint64_t, absl::StatusOr<federation::MaskedOutcome>>
        outcomes;                     // by round, of its group
    std::map<uint64_t, size_t> sums;  // by round, of all groups
  };

  void SetUp() override { SetNodes(kNodes); }
  void SetNodes(size_t count, uint64_t seed = 1) {
    nodes_.clear();
    nodes_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      Restart(i, seed);
    }
  }
  // Begins a node anew, which remembers nothing but its charges.
  void Restart(size_t node, uint64_t seed) {
    auto rounds = federation::MaskedRounds::Create(ConfigOf(node, seed));
    ASSERT_TRUE(rounds.ok()) << rounds.status();
    nodes_[node].rounds.emplace(*std::move(rounds));
  }

  static federation::Instant At(int64_t ms) {
    return {TimePoint(std::chrono::milliseconds(ms)), ms};
  }
  void Say(size_t from, federation::OfferMaskItem offer, federation::Instant now) {
    if (intercept_ && intercept_(from, offer)) {
      return;
    }
    federation::Item item =
        MaskedBus::ItemOf(MaskedBus::IdOf(from), offer.kind, std::move(offer.payload));
    item.round = nodes_[from].rounds->round();
    item.created_ms = now.wall_ms;
    items_.push_back(item);
    waiting_.push_back(std::move(item));
  }

  void Perform(size_t from, federation::MaskedSteps steps, federation::Instant now) {
    Node& node = nodes_[from];
    for (federation::MaskedStep& step : steps) {
      if (auto* offer = std::get_if<federation::OfferMaskItem>(&step)) {
        Say(from, std::move(*offer), now);
      } else if (auto* wanted = std::get_if<federation::MaskInputWanted>(&step);
                 wanted && node.answers) {
        auto shared = node.rounds->SubmitInput(
            node.rounds->round(), wanted->attempt,
            {.contributors = static_cast<uint32_t>(wanted->set.members.size()),
             .units = UnitsOf(SmallMaskLayout(), random_)},
            now);
        ASSERT_TRUE(shared.ok()) << shared.status();
        Perform(from, *std::move(shared), now);
      } else if (auto* due = std::get_if<federation::MaskPaymentWanted>(&step); due && node.pays) {
        auto revealed =
            node.rounds->Reveal(node.rounds->round(), due->attempt, ++node.charges, now);
        ASSERT_TRUE(revealed.ok()) << revealed.status();
        Perform(from, *std::move(revealed), now);
        if (once_) {
          node.rounds->StopSharing();
        }
      } else if (auto* ended = std::get_if<federation::MaskedRoundEnded>(&step)) {
        const uint64_t round = node.rounds->round();
        node.sums[round] += ended->outcome.ok() ? 1 : 0;
        if (ended->gave || ended->group == 0) {
          EXPECT_TRUE(node.outcomes.emplace(round, std::move(ended->outcome)).second);
        }
      }
    }
  }

  void Tick(int64_t ms, size_t from = 0) {
    const federation::Instant now = At(ms);
    for (size_t i = from; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      const auto takes_part = [&node](size_t) {
        ++node.asked;
        return node.willing;
      };
      std::vector<federation::Item> heard = items_;
      std::erase_if(heard, [&](const federation::Item& item) { return late_ && late_(i, item); });
      Perform(i,
              node.rounds->Due(now) ? node.rounds->Begin(heard, node.charges, takes_part, now)
                                    : node.rounds->OnTick(now),
              now);
      if (node.willing && node.rounds->MayAnnounce(now)) {
        Say(i, node.rounds->Announce(), now);
      }
    }
    while (!waiting_.empty()) {
      for (const federation::Item& item : std::exchange(waiting_, {})) {
        for (size_t i = from; i < nodes_.size(); ++i) {
          if (item.origin == MaskedBus::IdOf(i)) {
            continue;  // it may have said something else than it thinks
          }
          if (auto steps = nodes_[i].rounds->OnItem(item, now); steps.ok()) {
            Perform(i, *std::move(steps), now);
          }
        }
      }
    }
  }
  size_t KeysOf(size_t node, uint64_t round) const {
    return static_cast<size_t>(std::ranges::count_if(items_, [&](const federation::Item& item) {
      return item.kind == federation::ItemKind::kMaskKey && item.origin == MaskedBus::IdOf(node) &&
             item.round == round;
    }));
  }

  // Changes what a node is about to say; it is not said after true.
  std::function<bool(size_t from, federation::OfferMaskItem& offer)> intercept_;
  bool once_ = false;  // nodes give one share in a round, as they do in the learner's rounds
  // Whether a node has not heard of an item when its round begins.
  std::function<bool(size_t node, const federation::Item& item)> late_;
  Random random_{1};
  std::vector<Node> nodes_;
  std::vector<federation::Item> items_;
  std::vector<federation::Item> waiting_;
};

}  // namespace ruvd::test
