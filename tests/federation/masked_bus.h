// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The members of one masked round, with items that reach all members half a second later, in any
// order. A test decides what is lost, doubled or forged, and which members stop when.

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "federation/masked/masked_round.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {

// Returns the numbers of `count` nodes from 0, except those in `without`.
inline std::set<size_t> Numbers(size_t count, const std::set<size_t>& without = {}) {
  std::set<size_t> numbers;
  for (size_t i = 0; i < count; ++i) {
    if (!without.contains(i)) {
      numbers.insert(i);
    }
  }
  return numbers;
}

inline privacy::masking::MaskLayout SmallMaskLayout() {
  return {.model_hash = {1},
          .frame_id = {2},
          .bank_values = {40, 25},
          .grid = {.exponent = -9, .clip_units = 512, .sigma_units = 512},
          .colluders = 1};
}

inline privacy::dp::RandomBytes MaskEntropy(uint64_t seed) {
  return [random = std::make_shared<Random>(seed)](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random->Next() >> 56);
    }
  };
}

// Returns a node's update with its share of the noise, as far as a sum can tell.
inline std::vector<int32_t> UnitsOf(const privacy::masking::MaskLayout& layout, Random& random) {
  std::vector<int32_t> units(layout.Values());
  for (int32_t& unit : units) {
    unit = static_cast<int32_t>(random.Below(2001)) - 1000;
  }
  return units;
}

class MaskedBus {
 public:
  static constexpr uint64_t kRound = 12;
  static constexpr int64_t kStart = kWallStart;

  struct Node {
    privacy::NodeId id{};
    std::optional<federation::MaskedRound> round;
    bool stopped = false;
    bool answers = true;                             // MaskInputWanted
    bool pays = true;                                // MaskPaymentWanted
    uint64_t charges = 0;                            // of its ledger
    std::map<uint8_t, std::vector<int32_t>> inputs;  // by attempt
    std::map<uint8_t, Digest> input_set;
    std::set<privacy::NodeId> refused;
    std::optional<absl::StatusOr<federation::MaskedOutcome>> outcome;
  };

  // `nodes` are members; `observers` are other nodes that take no part.
  explicit MaskedBus(size_t nodes, uint64_t seed = 1, size_t observers = 0,
                     privacy::masking::MaskLayout layout = SmallMaskLayout())
      : layout_(std::move(layout)), random_(seed) {
    for (size_t i = 0; i < nodes + observers; ++i) {
      nodes_.emplace_back().id = IdOf(i);
      if (i < nodes) {
        group_.push_back(IdOf(i));
      }
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Begin(i, group_);
    }
  }

  static privacy::NodeId IdOf(size_t node) {
    privacy::NodeId id{};
    id[0] = static_cast<uint8_t>(7 * node + 1);
    return id;
  }

  // Begins a node's round, anew if it had begun; its gossip holds `known`.
  void Begin(size_t node, std::vector<privacy::NodeId> group,
             const std::vector<federation::Item>& known = {}) {
    auto round = federation::MaskedRound::Begin({.round = {.cluster = {5}, .round = kRound},
                                                 .layout = layout_,
                                                 .self = nodes_[node].id,
                                                 .group = std::move(group),
                                                 .ready = !not_ready.contains(node),
                                                 .schedule = {.start_ms = kStart},
                                                 .last_reservation = nodes_[node].charges,
                                                 .random = MaskEntropy(random_.Next())},
                                                known);
    ASSERT_TRUE(round.ok()) << round.status();
    nodes_[node].round.emplace(*std::move(round));
  }

  Node& node(size_t i) { return nodes_[i]; }
  size_t size() const { return nodes_.size(); }
  const std::vector<privacy::NodeId>& group() const { return group_; }
  const privacy::masking::MaskLayout& layout() const { return layout_; }
  Random& random() { return random_; }
  federation::Instant now() const {
    return {TimePoint(std::chrono::milliseconds(ms_)), kStart + ms_};
  }
  // All that nodes said, in order.
  const std::vector<federation::Item>& said() const { return said_; }
  size_t SharesOf(size_t node) const {
    return static_cast<size_t>(std::ranges::count_if(said_, [&](const federation::Item& item) {
      return item.kind == federation::ItemKind::kMaskShare && item.origin == nodes_[node].id;
    }));
  }

  // Whether an item does not reach a node; asked once for each of both.
  std::function<bool(const federation::Item& item, size_t to)> lose;
  // Sees every item before it is said; it is not after true.
  std::function<bool(size_t from, const federation::Item& item)> intercept;
  // Makes a node's input; nullopt: its ledger refuses. Unset: numbers at random, always.
  std::function<std::optional<privacy::masking::MaskInput>(
      size_t node, const federation::MaskInputWanted& wanted)>
      prepare;
  // Pays for a node's share, and returns the reservation; nullopt: its ledger refuses. Unset:
  // always
  std::function<std::optional<uint64_t>(size_t node)> pay;
  bool twice = false;          // every item comes twice
  std::set<size_t> not_ready;  // nodes that Begin begins without an input

  static federation::Item ItemOf(const privacy::NodeId& origin, federation::ItemKind kind,
                                 std::string payload) {
    federation::Item item;
    item.kind = kind;
    item.origin = origin;
    item.round = kRound;
    item.id = Sha256(payload + std::string(AsText(origin)));
    item.payload = std::make_shared<const std::string>(std::move(payload));
    return item;
  }
  void Send(const federation::Item& item) {
    said_.push_back(item);
    for (size_t to = 0; to < nodes_.size(); ++to) {
      if (!(lose && lose(item, to))) {
        flying_.emplace_back(to, item);
      }
    }
  }
  void Deliver(size_t to, const federation::Item& item) {
    if (!nodes_[to].stopped) {
      auto steps = nodes_[to].round->OnItem(item, now());
      if (steps.ok()) {
        Perform(to, *std::move(steps));
      }
    }
  }
  // Runs until every member that did not stop has ended, or until `limit_ms` has passed.
  void Run(int64_t limit_ms = 300'000) {
    const int64_t end = ms_ + limit_ms;
    for (; ms_ < end && !AllEnded(); ms_ += 500) {
      auto flying = std::exchange(flying_, {});
      for (size_t i = flying.size(); i > 1; --i) {
        std::swap(flying[i - 1], flying[random_.Below(i)]);
      }
      for (const auto& [to, item] : flying) {
        Deliver(to, item);
        if (twice) {
          Deliver(to, item);
        }
      }
      for (size_t i = 0; i < nodes_.size(); ++i) {
        if (!nodes_[i].stopped) {
          Perform(i, nodes_[i].round->OnTick(now()));
        }
      }
    }
  }
  bool AllEnded() const {
    return std::ranges::all_of(
        nodes_, [](const Node& node) { return node.stopped || node.outcome.has_value(); });
  }

  // The plain sum of what the members of an outcome's set put into it, mod 2^32.
  std::vector<int32_t> PlainSum(const federation::MaskedOutcome& outcome) const {
    std::vector<uint32_t> sum(layout_.Values());
    for (const Node& node : nodes_) {
      if (outcome.set.Find(node.id) == nullptr) {
        continue;
      }
      EXPECT_EQ(node.input_set.at(outcome.attempt), outcome.set.SetHash());
      const std::vector<int32_t>& units = node.inputs.at(outcome.attempt);
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] += static_cast<uint32_t>(units[i]);
      }
    }
    return {sum.begin(), sum.end()};
  }
  // Every member that did not stop has the plain sum of the same `members` in this attempt and not
  // in an earlier one.
  void ExpectSum(const std::set<size_t>& members, uint8_t attempt) {
    for (const Node& node : nodes_) {
      if (node.stopped) {
        continue;
      }
      ASSERT_TRUE(node.outcome.has_value());
      ASSERT_TRUE(node.outcome->ok()) << node.outcome->status();
      const federation::MaskedOutcome& outcome = **node.outcome;
      EXPECT_EQ(outcome.attempt, attempt);
      std::set<size_t> found;
      for (size_t i = 0; i < nodes_.size(); ++i) {
        if (outcome.set.Find(nodes_[i].id) != nullptr) {
          found.insert(i);
        }
      }
      EXPECT_EQ(found, members);
      EXPECT_EQ(outcome.units, PlainSum(outcome));
    }
  }
  // A node gives a share for every charge of its ledger, never two shares under one key, and gives
  // every key once.
  void ExpectNothingTwice() {
    std::set<std::pair<privacy::NodeId, uint8_t>> shares;
    std::set<privacy::masking::MaskPublicKey> keys;
    for (const federation::Item& item : said_) {
      if (item.kind == federation::ItemKind::kMaskShare) {
        const auto share = federation::DecodeMaskShareHead(AsBytes(*item.payload));
        ASSERT_TRUE(share.ok());
        EXPECT_TRUE(shares.insert({item.origin, share->attempt}).second);
      } else if (item.kind == federation::ItemKind::kMaskKey) {
        const auto key = federation::DecodeMaskKey(AsBytes(*item.payload));
        ASSERT_TRUE(key.ok());
        EXPECT_TRUE(keys.insert(key->offer.key).second);
      }
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      EXPECT_EQ(SharesOf(i), nodes_[i].charges) << "node " << i;
    }
  }

  void Perform(size_t from, federation::MaskedSteps steps) {
    Node& node = nodes_[from];
    for (federation::MaskedStep& step : steps) {
      if (node.stopped) {
        return;
      }
      if (auto* offer = std::get_if<federation::OfferMaskItem>(&step)) {
        const federation::Item item = ItemOf(node.id, offer->kind, std::move(offer->payload));
        if (!(intercept && intercept(from, item))) {
          Send(item);
        }
      } else if (auto* wanted = std::get_if<federation::MaskInputWanted>(&step)) {
        Answer(from, *wanted);
      } else if (auto* due = std::get_if<federation::MaskPaymentWanted>(&step)) {
        Pay(from, *due);
      } else if (auto* refused = std::get_if<federation::MaskMemberRefused>(&step)) {
        node.refused.insert(refused->member);
      } else if (auto* ended = std::get_if<federation::MaskedRoundEnded>(&step)) {
        EXPECT_FALSE(node.outcome.has_value());
        node.outcome = std::move(ended->outcome);
      }
    }
  }

 private:
  privacy::masking::MaskInput RandomInput(const federation::MaskInputWanted& wanted) {
    return {.contributors = static_cast<uint32_t>(wanted.set.members.size()),
            .units = UnitsOf(layout_, random_)};
  }
  void Pay(size_t from, const federation::MaskPaymentWanted& due) {
    Node& node = nodes_[from];
    if (!node.pays) {
      return;
    }
    const std::optional<uint64_t> paid = pay ? pay(from) : std::optional(node.charges + 1);
    if (!paid) {
      return;
    }
    node.charges = *paid;
    auto steps = node.round->Reveal(due.attempt, *paid, now());
    ASSERT_TRUE(steps.ok()) << steps.status();
    Perform(from, *std::move(steps));
  }
  void Answer(size_t from, const federation::MaskInputWanted& wanted) {
    Node& node = nodes_[from];
    EXPECT_FALSE(node.inputs.contains(wanted.attempt)) << "asked twice";
    if (!node.answers) {
      return;
    }
    std::optional<privacy::masking::MaskInput> input =
        prepare ? prepare(from, wanted) : RandomInput(wanted);
    if (!input) {
      return;
    }
    node.inputs[wanted.attempt] = input->units;
    node.input_set[wanted.attempt] = wanted.set.SetHash();
    auto steps = node.round->SubmitInput(wanted.attempt, *std::move(input), now());
    ASSERT_TRUE(steps.ok()) << steps.status();
    Perform(from, *std::move(steps));
  }

  privacy::masking::MaskLayout layout_;
  Random random_;
  std::vector<Node> nodes_;
  std::vector<privacy::NodeId> group_;
  std::vector<std::pair<size_t, federation::Item>> flying_;
  std::vector<federation::Item> said_;
  int64_t ms_ = 0;
};

}  // namespace ruvd::test
