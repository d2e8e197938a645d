// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests withdrawals: the record, what has to be built again, what remains.

#include "privacy/consent/withdrawal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/consent/provenance.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/rotated_key.h"

namespace ruvd::privacy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Digest Item(uint8_t number) {
  return {number};
}

class WithdrawalTest : public testing::Test {
 protected:
  Withdrawal Of(std::vector<Digest> items) const {
    return Withdrawal::Sign(std::move(items), false, 5000, key_).value();
  }
  Withdrawal OfPatterns(std::vector<Withdrawal::PatternName> patterns) const {
    return Withdrawal::Sign({}, false, 5000, key_, std::move(patterns)).value();
  }
  ProvenanceInput Mine(uint8_t item, int64_t created_ms = 1000) const {
    return {.item = Item(item), .origin = key_.id(), .created_ms = created_ms};
  }
  static ProvenanceInput Others(uint8_t item) {
    return {.item = Item(item), .origin = {9}, .created_ms = 1000};
  }
  const NodeKey key_ = NodeKey::FromSeed(KeySeed{1});
};

TEST_F(WithdrawalTest, AreSignedAgainUnderTheNextKeyOfTheirNodeOnly) {
  const NodeKey rotated = test::RotatedKey(KeySeed{1}, KeySeed{2});
  Withdrawal record = Of({Item(3)});
  ASSERT_TRUE(record.Resign(rotated).ok());
  EXPECT_TRUE(record.Verify(rotated.public_key()).ok());
  EXPECT_EQ(record.node, key_.id());
  Withdrawal other =
      Withdrawal::Sign({Item(3)}, false, 5000, NodeKey::FromSeed(KeySeed{7})).value();
  const Withdrawal before = other;
  EXPECT_EQ(ReasonOf(other.Resign(rotated)), reasons::kSignatureInvalid);
  EXPECT_EQ(other, before);
}

TEST_F(WithdrawalTest, RecordsAreSignedAndReadAsTheyWere) {
  const Withdrawal all = Withdrawal::Sign({}, true, 5000, key_).value();
  const Withdrawal both =
      Withdrawal::Sign({Item(1)}, false, 5000, key_, {Withdrawal::PatternName{2}}).value();
  for (const Withdrawal& record : {Of({Item(3), Item(1)}), all, both}) {
    const std::string good = record.Encode();
    EXPECT_EQ(Withdrawal::Parse(AsBytes(good)).value(), record);
    EXPECT_TRUE(record.Verify(key_.public_key()).ok());
    EXPECT_EQ(ReasonOf(record.Verify(NodeKey::FromSeed(KeySeed{2}).public_key())),
              reasons::kSignatureInvalid);
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1);
      const auto altered = Withdrawal::Parse(AsBytes(bad));
      EXPECT_FALSE(altered.ok() && altered->Verify(key_.public_key()).ok()) << i;
      EXPECT_FALSE(Withdrawal::Parse(AsBytes(good).first(i)).ok()) << i;
    }
  }
}

// The worked example of docs/wire-format.md, computed by an independent program.
TEST_F(WithdrawalTest, HasTheBytesOfTheDocument) {
  Digest item;
  item.fill(0x55);
  EXPECT_EQ(ToHex(AsBytes(Of({item}).Encode())),
            "525556444c4c4d2d57495448445241572d763100a91adc307a438dd6a95b8c858d9b5e1dcee51c0101b7cb"
            "6e53ff25b355f10de088130000000000000001005555555555555555555555555555555555555555555555"
            "5555555555555555550000a50719503d2a7a0daea329cf1cbeb72e56ee32e8696a6abbc9e3cbe6f2e0a4ef"
            "99f6e07c89934229ed1a450d7c36e143458e4d75de62df47dcc6c050ec757309");
  Withdrawal::PatternName pattern;
  pattern.fill(0x66);
  EXPECT_EQ(ToHex(AsBytes(OfPatterns({pattern}).Encode())),
            "525556444c4c4d2d57495448445241572d763100a91adc307a438dd6a95b8c858d9b5e1dcee51c0101b7cb"
            "6e53ff25b355f10de08813000000000000000000010066666666666666666666666666666666c58366c180"
            "081e5b4c0193c0883725ef75d1817a38d65261631a09acd34004a725acd709bbcfc3136e41e020bacd23fa"
            "b9706d24de4193bc167681ceaa612c06");
}

TEST_F(WithdrawalTest, WithdrawsSomethingAndEachOnce) {
  EXPECT_EQ(ReasonOf(Withdrawal::Sign({}, false, 1, key_).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(Withdrawal::Sign({Item(1)}, true, 1, key_).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(Withdrawal::Sign({Item(1), Item(1)}, false, 1, key_).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(
      ReasonOf(Withdrawal::Sign(std::vector<Digest>(limits::kMaxWithdrawnItems + 1), false, 1, key_)
                   .status()),
      reasons::kLimitExceeded);
}

TEST_F(WithdrawalTest, CoversItsOwnNodesItemsOnly) {
  const Withdrawal some = Of({Item(1)});
  EXPECT_TRUE(some.Covers(Item(1), key_.id(), 9000));
  EXPECT_FALSE(some.Covers(Item(2), key_.id(), 1000));
  EXPECT_FALSE(some.Covers(Item(1), NodeId{9}, 1000));
  const Withdrawal all = Withdrawal::Sign({}, true, 5000, key_).value();
  EXPECT_TRUE(all.Covers(Item(2), key_.id(), 5000));
  EXPECT_FALSE(all.Covers(Item(2), key_.id(), 5001));
  EXPECT_FALSE(all.Covers(Item(2), NodeId{9}, 1000));
}

TEST_F(WithdrawalTest, CoversVersionsOfItsOwnPatternsUntilThen) {
  const Withdrawal some = OfPatterns({{1}, {2}});
  EXPECT_TRUE(some.CoversPattern({2}, key_.id(), 5000));
  EXPECT_FALSE(some.CoversPattern({2}, key_.id(), 5001)) << "a newer one";
  EXPECT_FALSE(some.CoversPattern({3}, key_.id(), 1000));
  EXPECT_FALSE(some.CoversPattern({2}, NodeId{9}, 1000));
  EXPECT_FALSE(some.Covers(Item(2), key_.id(), 1000));
  EXPECT_TRUE(some.Includes(OfPatterns({{2}})));
  EXPECT_FALSE(OfPatterns({{2}}).Includes(some));
  EXPECT_FALSE(some.Includes(Of({Item(1)})));
}

TEST_F(WithdrawalTest, WhatHoldsTheWithdrawnIsBuiltAnewParentsFirst) {
  ProvenanceIndex index;
  ASSERT_TRUE(index.Add("z1", {Mine(1), Others(2)}, {}).ok());
  ASSERT_TRUE(index.Add("other", {Others(3)}, {}).ok());
  ASSERT_TRUE(index.Add("a2", {Others(4)}, {"z1"}).ok());
  ASSERT_TRUE(index.Add("m3", {Mine(5)}, {"a2", "other"}).ok());
  const std::vector<RebuildStep> plan = index.PlanRebuild(std::vector{Of({Item(1)})});
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0].version, "z1");
  EXPECT_THAT(plan[0].inputs, ElementsAre(Others(2)));
  EXPECT_EQ(plan[1].version, "a2");
  EXPECT_THAT(plan[1].inputs, ElementsAre(Others(4)));
  EXPECT_EQ(plan[2].version, "m3");
  EXPECT_THAT(plan[2].inputs, ElementsAre(Mine(5)));
  EXPECT_THAT(plan[2].parents, ElementsAre("a2", "other"));
  EXPECT_THAT(index.PlanRebuild(std::vector{Of({Item(7)})}), IsEmpty());
  EXPECT_THAT(index.PlanRebuild({}), IsEmpty());
  const auto all = index.PlanRebuild(std::vector{Withdrawal::Sign({}, true, 5000, key_).value()});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(all[2].inputs, IsEmpty());
}

TEST_F(WithdrawalTest, AnIndexHasNoLooseEnds) {
  ProvenanceIndex index;
  EXPECT_EQ(ReasonOf(index.Add("a", {}, {"unknown"})), reasons::kInvalidArgument);
  ASSERT_TRUE(index.Add("a", {}, {}).ok());
  EXPECT_EQ(ReasonOf(index.Add("a", {}, {})), reasons::kInvalidArgument);
  ASSERT_TRUE(index.Add("b", {}, {"a"}).ok());
  EXPECT_EQ(ReasonOf(index.Remove("a")), reasons::kInvalidArgument);
  EXPECT_TRUE(index.Remove("b").ok());
  EXPECT_TRUE(index.Remove("a").ok());
  EXPECT_EQ(index.size(), 0U);
  EXPECT_EQ(
      ReasonOf(index.Add("c", std::vector<ProvenanceInput>(limits::kMaxProvenanceInputs + 1), {})),
      reasons::kLimitExceeded);
}

TEST_F(WithdrawalTest, SaysWhatRemains) {
  EXPECT_THAT(ResidualStatement({}), testing::HasSubstr("Nothing was released"));
  EXPECT_THAT(ResidualStatement({.releases = 3, .epsilon = 2.5, .delta = 1e-6}),
              testing::AllOf(testing::HasSubstr("3 noised release(s)"),
                             testing::HasSubstr("epsilon 2.500 at delta 1.0e-06")));
  // A user who had shared plainly must not be told that nothing was released.
  EXPECT_THAT(ResidualStatement({.plain = true}),
              testing::AllOf(testing::HasSubstr("no epsilon bounds"),
                             testing::Not(testing::HasSubstr("Nothing was released"))));
}

}  // namespace
}  // namespace ruvd::privacy
