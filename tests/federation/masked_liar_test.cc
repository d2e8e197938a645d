// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A member of masked rounds that withholds its share or spoils the sum, round after round.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "tests/federation/masked_clique.h"
#include "tests/federation/masked_rounds_fixture.h"

namespace ruvd::test {
namespace {

class MaskedLiarTest : public MaskedRoundsTest {
 protected:
  static constexpr size_t kMembers = 16;
  static constexpr size_t kLiar = 5;

  void SetUp() override { Begin(1); }
  void Begin(uint64_t seed) {
    items_.clear();
    charged_.assign(kMembers, 0);
    round_ = kFirst / kPeriod;
    once_ = true;
    SetNodes(kMembers, seed);
    Tick(kFirst);  // all announce themselves
    Tick(kFirst + 200);
  }
  // Lets the liar commit to noise, and give it in place of its share.
  void GiveNoise() {
    intercept_ = [this](size_t from, federation::OfferMaskItem& offer) {
      if (from == kLiar && offer.kind == federation::ItemKind::kMaskCommitment) {
        const auto commitment = federation::DecodeMaskCommitment(AsBytes(offer.payload)).value();
        federation::MaskShareItem share{.attempt = commitment.attempt,
                                        .salt = {},
                                        .update = {.round = commitment.round,
                                                   .sender = MaskedBus::IdOf(kLiar),
                                                   .set = commitment.set,
                                                   .layout = commitment.layout,
                                                   .values = {}}};
        for (size_t i = 0; i < SmallMaskLayout().Values(); ++i) {
          share.update.values.push_back(static_cast<uint32_t>(random_.Next()));
        }
        noise_ = federation::EncodeMaskShare(share);
        offer.payload = CommitmentOf(noise_);
      } else if (from == kLiar && offer.kind == federation::ItemKind::kMaskShare) {
        offer.payload = noise_;
      }
      return false;
    };
  }
  // Runs the next round, and counts the charges of honest members that came to nothing.
  void RunRound() {
    ++round_;
    std::vector<uint64_t> before;
    for (const Node& node : nodes_) {
      before.push_back(node.charges);
    }
    const int64_t start = static_cast<int64_t>(round_) * kPeriod;
    Tick(start);
    Tick(start + 200);
    for (int64_t attempt = 1; attempt <= 3; ++attempt) {
      Tick(start + attempt * limits::kMaskAttemptMillis);
    }
    for (size_t i = 0; i < kMembers; ++i) {
      const auto outcome = nodes_[i].outcomes.find(round_);
      const bool summed = outcome != nodes_[i].outcomes.end() && outcome->second.ok();
      charged_[i] += i != kLiar && !summed && nodes_[i].charges > before[i] ? 1 : 0;
    }
  }
  bool IsOut() const {
    return federation::IsLeftOut(nodes_[0].rounds->conduct(), MaskedBus::IdOf(kLiar), round_);
  }

  std::string noise_;  // the share that the liar committed to
  uint64_t round_ = 0;
  std::vector<size_t> charged_;  // failed charges by node
};

// Found by review: who withheld was forgotten in the next round, and cost a charge in each of them.
TEST_F(MaskedLiarTest, WhoWithholdsIsRememberedInTheNextRound) {
  nodes_[kLiar].pays = false;
  RunRound();
  EXPECT_EQ(charged_[0], 1U);
  RunRound();
  EXPECT_TRUE(IsOut());
  EXPECT_EQ(charged_[0], 1U) << "once and not again";
  ASSERT_TRUE(nodes_[0].outcomes.at(round_).ok());
  EXPECT_EQ(nodes_[0].outcomes.at(round_)->weight(), kMembers - 1);
  EXPECT_EQ(ReasonOf(nodes_[kLiar].outcomes.at(round_).status()), reasons::kMaskedRoundFailed);
  RunRound();
  EXPECT_TRUE(IsOut());
  RunRound();
  EXPECT_FALSE(IsOut()) << "it may try again, among few";
  size_t charged = 0;
  for (const size_t charges : charged_) {
    charged += charges;
  }
  EXPECT_EQ(charged, kMembers - 1 + 3);
}

// Found by review: noise in place of a share ended every round for all, and no member was named.
TEST_F(MaskedLiarTest, OneOfSixteenThatSpoilsSumsIsIsolated) {
  size_t longest = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Begin(seed);
    GiveNoise();
    size_t rounds = 0;
    for (; rounds < 6 && !IsOut(); ++rounds) {
      RunRound();
    }
    ASSERT_TRUE(IsOut()) << seed;
    longest = std::max(longest, rounds - 1);  // the last one has it out
    size_t charges = 0;
    for (const size_t charged : charged_) {
      EXPECT_LE(charged, 3U);
      charges += charged;
    }
    EXPECT_EQ(charges, kMembers - 1 + 3 + 3) << "all once, three twice, and three again";
    for (size_t i = 0; i < kMembers; ++i) {
      EXPECT_EQ(federation::IsLeftOut(nodes_[1].rounds->conduct(), MaskedBus::IdOf(i), round_),
                i == kLiar);
    }
    ASSERT_TRUE(nodes_[0].outcomes.at(round_).ok());
  }
  RecordProperty("rounds", std::to_string(longest));
  EXPECT_EQ(longest, 3U);
}

// It signs the set and does not commit: the others go on without it in the next attempt.
TEST_F(MaskedLiarTest, WhoDoesNotCommitCostsNothingAndIsNotMarked) {
  nodes_[kLiar].answers = false;
  RunRound();
  EXPECT_EQ(charged_, std::vector<size_t>(kMembers));
  ASSERT_TRUE(nodes_[0].outcomes.at(round_).ok());
  EXPECT_EQ(nodes_[0].outcomes.at(round_)->attempt, 1);
  RunRound();
  EXPECT_FALSE(IsOut()) << "others can make a commitment late";
  EXPECT_TRUE(nodes_[0].rounds->conduct().empty());
  EXPECT_EQ(charged_, std::vector<size_t>(kMembers));
}

TEST_F(MaskedLiarTest, RestartsForgetNothing) {
  GiveNoise();
  RunRound();
  RunRound();
  for (size_t i = 0; i < kMembers; ++i) {
    Restart(i, 7 + i);
  }
  RunRound();
  RunRound();
  EXPECT_TRUE(IsOut());
}

// Half of the members have its late share when the next round begins: they see an impossible sum,
// and the others a share that is owed. Some of them mark it, whichever they see.
TEST_F(MaskedLiarTest, WhoShowsTwoFacesAtTheBorderOfARoundIsMarked) {
  GiveNoise();
  late_ = [this](size_t node, const federation::Item& item) {
    return item.kind == federation::ItemKind::kMaskShare && item.origin == MaskedBus::IdOf(kLiar) &&
           item.round + 1 == round_ && node % 2 == 0;
  };
  RunRound();
  RunRound();
  RunRound();
  const federation::Conduct& conduct = nodes_[0].rounds->conduct();
  ASSERT_TRUE(conduct.contains(MaskedBus::IdOf(kLiar)));
  EXPECT_GT(conduct.at(MaskedBus::IdOf(kLiar)).withheld, 0);
  EXPECT_GT(conduct.at(MaskedBus::IdOf(kLiar)).failures, 0);
  for (size_t i = 0; i < kMembers; ++i) {
    EXPECT_LE(charged_[i], 2U);
  }
}

}  // namespace
}  // namespace ruvd::test
