// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Masked rounds between real cores: their items cross a mesh with losses, and an item that does not
// belong to a round goes no further.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/masked/groups.h"
#include "federation/masked/masked_round.h"
#include "privacy/consent/consent.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/federation/masked_bus.h"
#include "tests/federation/swarm.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A swarm in which every node takes part in one masked round. Shares have two chunks.
class MaskedSwarm {
 public:
  static constexpr uint64_t kRound = 3;

  MaskedSwarm(SwarmOptions options, const std::set<size_t>& members)
      : swarm_(std::move(options)), nodes_(swarm_.size()) {
    layout_.bank_values = {9'000, 9'000};
    swarm_.Run(seconds(15));
    const privacy::masking::MaskedSumId round{.cluster = Authority().cluster_id(), .round = kRound};
    std::vector<privacy::NodeId> ids;
    for (const size_t node : members) {
      ids.push_back(swarm_.id(node));
    }
    const auto groups = federation::MaskedGroups({}, ids);
    EXPECT_EQ(groups.size(), 1U);
    for (const size_t node : members) {
      const privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(node));
      auto consented = swarm_.core(node).SetConsent(
          privacy::ConsentRecord::Sign(privacy::ConsentTier::kMasked, swarm_.now().wall_ms, key),
          swarm_.now());
      EXPECT_TRUE(consented.ok());
      auto begun =
          federation::MaskedRound::Begin({.round = round,
                                          .layout = layout_,
                                          .self = swarm_.id(node),
                                          .group = groups[0],
                                          .schedule = {.start_ms = swarm_.now().wall_ms + 1000},
                                          .random = MaskEntropy(node + 1)},
                                         swarm_.core(node).Items());
      EXPECT_TRUE(begun.ok()) << begun.status();
      nodes_[node].round.emplace(*std::move(begun));
    }
  }

  Swarm& swarm() { return swarm_; }
  // Node `node` stops when it would say something of this kind.
  void CrashBefore(size_t node, federation::ItemKind kind) { nodes_[node].crash_before = kind; }

  void Run(Duration limit) {
    const TimePoint end = swarm_.now().now + limit;
    while (swarm_.now().now < end && !AllEnded()) {
      swarm_.Run(milliseconds(200));
      for (size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].round && swarm_.alive(i)) {
          Feed(i);
        }
      }
    }
  }
  bool AllEnded() const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].round && swarm_.alive(i) && !nodes_[i].outcome) {
        return false;
      }
    }
    return true;
  }
  size_t MaskItems(size_t node) {
    const std::vector<federation::Item> items = swarm_.core(node).Items();
    return static_cast<size_t>(std::ranges::count_if(
        items, [](const federation::Item& item) { return federation::IsMaskItem(item.kind); }));
  }
  // Every member that runs has the plain sum of `members`.
  void ExpectSum(const std::set<size_t>& members, uint8_t attempt) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].round || !swarm_.alive(i)) {
        continue;
      }
      ASSERT_TRUE(nodes_[i].outcome) << "node " << i;
      ASSERT_TRUE(nodes_[i].outcome->ok()) << nodes_[i].outcome->status();
      const federation::MaskedOutcome& outcome = **nodes_[i].outcome;
      EXPECT_EQ(outcome.attempt, attempt);
      EXPECT_EQ(outcome.weight(), members.size());
      std::vector<int32_t> sum(layout_.Values());
      for (const size_t member : members) {
        EXPECT_NE(outcome.set.Find(swarm_.id(member)), nullptr);
        const std::vector<int32_t>& units = nodes_[member].inputs.at(attempt);
        std::ranges::transform(sum, units, sum.begin(), std::plus<>());
      }
      EXPECT_EQ(outcome.units, sum);
    }
  }
  void ExpectNobodyBlamed() {
    for (size_t i = 0; i < swarm_.size(); ++i) {
      for (const auto& [reason, count] : swarm_.core(i).counters().refused) {
        EXPECT_EQ(reason, reasons::kDuplicateLink) << "node " << i << ", " << count;
      }
    }
  }

 private:
  struct Node {
    std::optional<federation::MaskedRound> round;
    std::optional<federation::ItemKind> crash_before;
    std::set<Digest> seen;
    uint64_t charges = 0;
    std::map<uint8_t, std::vector<int32_t>> inputs;
    std::optional<absl::StatusOr<federation::MaskedOutcome>> outcome;
  };

  void Feed(size_t i) {
    Node& node = nodes_[i];
    for (const federation::Item& item : swarm_.core(i).Items()) {
      if (federation::IsMaskItem(item.kind) && node.seen.insert(item.id).second) {
        auto steps = node.round->OnItem(item, swarm_.now());
        ASSERT_TRUE(steps.ok()) << steps.status();
        Perform(i, *std::move(steps));
      }
    }
    Perform(i, node.round->OnTick(swarm_.now()));
  }

  void Perform(size_t i, federation::MaskedSteps steps) {
    Node& node = nodes_[i];
    for (federation::MaskedStep& step : steps) {
      if (auto* offer = std::get_if<federation::OfferMaskItem>(&step); offer && swarm_.alive(i)) {
        if (node.crash_before == offer->kind) {
          swarm_.Crash(i);
          return;
        }
        auto offered = swarm_.core(i).OfferMasked(offer->kind, kRound, std::move(offer->payload),
                                                  swarm_.now());
        ASSERT_TRUE(offered.ok()) << offered.status();
        swarm_.Apply(i, *std::move(offered));
      } else if (auto* wanted = std::get_if<federation::MaskInputWanted>(&step)) {
        Random random(100 * i + wanted->attempt);
        node.inputs[wanted->attempt] = UnitsOf(layout_, random);
        auto shared = node.round->SubmitInput(
            wanted->attempt,
            {.contributors = static_cast<uint32_t>(wanted->set.members.size()),
             .units = node.inputs[wanted->attempt]},
            swarm_.now());
        ASSERT_TRUE(shared.ok()) << shared.status();
        Perform(i, *std::move(shared));
      } else if (auto* due = std::get_if<federation::MaskPaymentWanted>(&step)) {
        auto revealed = node.round->Reveal(due->attempt, ++node.charges, swarm_.now());
        ASSERT_TRUE(revealed.ok()) << revealed.status();
        Perform(i, *std::move(revealed));
      } else if (auto* ended = std::get_if<federation::MaskedRoundEnded>(&step)) {
        node.outcome = std::move(ended->outcome);
      }
    }
  }

  privacy::masking::MaskLayout layout_ = SmallMaskLayout();
  Swarm swarm_;
  std::vector<Node> nodes_;
};

std::set<size_t> From(size_t begin, size_t end, size_t step = 1) {
  std::set<size_t> numbers;
  for (size_t i = begin; i < end; i += step) {
    numbers.insert(i);
  }
  return numbers;
}

TEST(MaskedGossip, ACliqueAddsUpOverALossyMesh) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    MaskedSwarm cluster({.nodes = 12, .seed = seed, .loss = 0.05}, From(0, 12));
    cluster.Run(seconds(60));
    cluster.ExpectSum(From(0, 12), 0);
    cluster.ExpectNobodyBlamed();
  }
}

TEST(MaskedGossip, ACrashBeforeTheShareLeavesTheOthersASum) {
  MaskedSwarm cluster({.nodes = 8, .seed = 4, .loss = 0.05}, From(0, 8));
  cluster.CrashBefore(3, federation::ItemKind::kMaskShare);
  cluster.Run(seconds(240));
  ASSERT_FALSE(cluster.swarm().alive(3));
  std::set<size_t> left = From(0, 8);
  left.erase(3);
  cluster.ExpectSum(left, 1);
}

class MaskedItems : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(peer_.Dial().closed, ""); }

  std::string KeyOf(uint64_t round, uint8_t attempt = 0) const {
    return federation::EncodeMaskKey(
        {.attempt = attempt, .offer = {.round = round, .layout = {1}, .key = {9}}});
  }
  absl::Status Consent(privacy::ConsentTier tier) {
    return target_.core()
        .SetConsent(privacy::ConsentRecord::Sign(tier, target_.now().wall_ms, target_.key()),
                    target_.now())
        .status();
  }

  CoreUnderTest target_;
  // Manifests of a TestPeer belong to round 1.
  TestPeer peer_{target_, 1, 7};
};

TEST_F(MaskedItems, AreTakenWithTheirRoundAndSender) {
  const std::string payload = KeyOf(1);
  const Answers taken =
      peer_.Serve(peer_.Push(peer_.Manifest(federation::ItemKind::kMaskKey, payload)), payload);
  ASSERT_EQ(taken.accepted.size(), 1U);
  EXPECT_EQ(taken.accepted[0].kind, federation::ItemKind::kMaskKey);
  EXPECT_EQ(target_.core().counters().accepted_items.at("mask_key"), 1U);
}

TEST_F(MaskedItems, ThatNameAnotherRoundSenderOrAttemptGoNoFurther) {
  privacy::masking::MaskedUpdate update{
      .round = 1, .sender = target_.key().id(), .set = {1}, .layout = {1}, .values = {1, 2}};
  for (const auto& [kind, payload] :
       {std::pair{federation::ItemKind::kMaskKey, KeyOf(2)},
        std::pair{federation::ItemKind::kMaskKey, KeyOf(1, limits::kMaxMaskAttempts)},
        std::pair{federation::ItemKind::kMaskShare,
                  federation::EncodeMaskShare({.attempt = 0, .update = update})},
        std::pair{federation::ItemKind::kMaskSet, std::string(100, '\0')}}) {
    const Answers refused = peer_.Serve(peer_.Push(peer_.Manifest(kind, payload)), payload);
    EXPECT_TRUE(refused.accepted.empty());
    EXPECT_THAT(refused.refused, testing::ElementsAre(reasons::kUpdateInvalid));
  }
}

// The largest payload of each kind is known before any byte of it is fetched.
TEST_F(MaskedItems, ThatAreTooLargeAreNotFetched) {
  for (const federation::ItemKind kind :
       {federation::ItemKind::kMaskKey, federation::ItemKind::kMaskSet,
        federation::ItemKind::kMaskShare}) {
    const auto push = [&](uint64_t bytes) {
      return peer_.Push(peer_.Manifest(
          kind, "x", [bytes](federation::Manifest& manifest) { manifest.payload_bytes = bytes; }));
    };
    EXPECT_THAT(push(federation::MaxMaskPayloadBytes(kind) + 1).refused,
                testing::ElementsAre(reasons::kLimitExceeded));
    EXPECT_NE(push(federation::MaxMaskPayloadBytes(kind)).Find(WireFrame::kChunkRequest), nullptr);
  }
}

TEST_F(MaskedItems, LeaveUnderTheTierMaskedAlone) {
  const auto offer = [&] {
    return ReasonOf(target_.core()
                        .OfferMasked(federation::ItemKind::kMaskKey, 1, KeyOf(1), target_.now())
                        .status());
  };
  EXPECT_EQ(offer(), reasons::kConsentMissing);
  ASSERT_TRUE(Consent(privacy::ConsentTier::kDp).ok());
  EXPECT_EQ(offer(), reasons::kConsentMissing);
  ASSERT_TRUE(Consent(privacy::ConsentTier::kMasked).ok());
  EXPECT_EQ(offer(), "");
  EXPECT_EQ(target_.core().Items().size(), 1U);
  ASSERT_TRUE(Consent(privacy::ConsentTier::kPrivate).ok());
  EXPECT_TRUE(target_.core().Items().empty()) << "peers are given it no more";
}

// Items of two rounds of attempts are kept for one sender; a flood drops its sender's own oldest
// items.
TEST_F(MaskedItems, OfOneSenderAreFew) {
  for (uint8_t i = 0; i < 2 * limits::kMaxMaskItemsPerOrigin; ++i) {
    federation::MaskKeyItem key{.attempt = 0, .offer = {.round = 1, .layout = {1}, .key = {i}}};
    const std::string payload = federation::EncodeMaskKey(key);
    peer_.Serve(peer_.Push(peer_.Manifest(federation::ItemKind::kMaskKey, payload)), payload);
    target_.Advance(milliseconds(10));
  }
  EXPECT_EQ(target_.core().Items().size(), limits::kMaxMaskItemsPerOrigin);
}

}  // namespace
}  // namespace ruvd::test
