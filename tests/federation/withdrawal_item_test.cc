// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a member withdraws leaves all nodes, and does not come back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/reconcile.h"
#include "federation/reasons.h"
#include "privacy/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WithdrawalItemTest : public ::testing::Test {
 protected:
  // A push whose payload is asked for and served; what the last chunk caused.
  Answers Give(TestPeer& peer, federation::ItemKind kind, const std::string& payload) {
    return peer.Serve(peer.Push(peer.Manifest(kind, payload)), payload);
  }
  Answers GivePattern(TestPeer& peer, int64_t created_ms) {
    federation::SharedPattern pattern = PatternOf(1);
    pattern.created_ms = created_ms;
    return Give(peer, federation::ItemKind::kPattern, federation::EncodeSharedPattern(pattern));
  }
  Answers TakeBack(TestPeer& peer, std::vector<Digest> items,
                   std::vector<privacy::Withdrawal::PatternName> patterns = {},
                   int64_t at_ms = kWallStart) {
    const auto withdrawal = privacy::Withdrawal::Sign(std::move(items), /*everything=*/false, at_ms,
                                                      peer.key(), std::move(patterns));
    EXPECT_TRUE(withdrawal.ok()) << withdrawal.status();
    return Give(peer, federation::ItemKind::kWithdrawal, withdrawal->Encode());
  }
  std::vector<federation::ItemKind> Kinds() {
    std::vector<federation::ItemKind> kinds;
    for (const federation::Item& item : node_.core().Items()) {
      kinds.push_back(item.kind);
    }
    return kinds;
  }

  CoreUnderTest node_;
  TestPeer peer_{node_, 1, 1};
  TestPeer other_{node_, 2, 2};
};

TEST_F(WithdrawalItemTest, WhatItsSenderTakesBackIsDroppedAndStaysAway) {
  ASSERT_EQ(peer_.Dial().closed, "");
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1));
  const privacy::Envelope manifest = peer_.Manifest(federation::ItemKind::kPattern, payload);
  const Answers given = peer_.Serve(peer_.Push(manifest), payload);
  ASSERT_EQ(given.accepted.size(), 1u);
  const Digest id = given.accepted[0].id;
  const Answers taken = TakeBack(peer_, {id});
  ASSERT_EQ(taken.accepted.size(), 1u) << "kept, and passed on";
  EXPECT_THAT(taken.withdrawn, ElementsAre(id));
  EXPECT_THAT(taken.dropped, ElementsAre(id));
  EXPECT_THAT(Kinds(), ElementsAre(federation::ItemKind::kWithdrawal));
  ASSERT_EQ(other_.Dial().closed, "");
  EXPECT_THAT(other_.Push(manifest).accepted, IsEmpty());
  EXPECT_THAT(Kinds(), ElementsAre(federation::ItemKind::kWithdrawal));
}

TEST_F(WithdrawalItemTest, AnEarlyWithdrawalKeepsTheItemOutWithoutBlame) {
  ASSERT_EQ(peer_.Dial().closed, "");
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1));
  const privacy::Envelope manifest = peer_.Manifest(federation::ItemKind::kPattern, payload);
  TakeBack(peer_, {privacy::MessageId(manifest)});
  ASSERT_EQ(other_.Dial().closed, "");
  const double before = node_.core().ScoreOf(other_.key().id());
  const Answers passed_on = other_.Push(manifest);
  EXPECT_THAT(passed_on.refused, ElementsAre(reasons::kWithdrawn));
  EXPECT_EQ(passed_on.Find(WireFrame::kChunkRequest), nullptr);
  EXPECT_EQ(passed_on.closed, "");
  EXPECT_EQ(node_.core().ScoreOf(other_.key().id()), before);
}

TEST_F(WithdrawalItemTest, NobodyTakesBackWhatAnotherNodeSent) {
  ASSERT_EQ(peer_.Dial().closed, "");
  ASSERT_EQ(other_.Dial().closed, "");
  const Answers given =
      Give(peer_, federation::ItemKind::kPattern, federation::EncodeSharedPattern(PatternOf(2)));
  const Answers pattern = GivePattern(peer_, kWallStart);
  ASSERT_EQ(given.accepted.size() + pattern.accepted.size(), 2u);
  TakeBack(other_, {given.accepted[0].id}, {PatternOf(1).id});
  EXPECT_EQ(node_.core().Items().size(), 3u);
  const auto forged =
      privacy::Withdrawal::Sign({given.accepted[0].id}, false, kWallStart, peer_.key());
  const Answers passed_on = Give(other_, federation::ItemKind::kWithdrawal, forged->Encode());
  EXPECT_THAT(passed_on.refused, ElementsAre(reasons::kWithdrawalInvalid));
  EXPECT_EQ(node_.core().Items().size(), 3u);
}

// The newer of a pattern's version and its withdrawal counts, in whatever order they come.
TEST_F(WithdrawalItemTest, AForgottenPatternComesBackOnlyAsANewerOne) {
  ASSERT_EQ(peer_.Dial().closed, "");
  ASSERT_EQ(GivePattern(peer_, kWallStart + 1).accepted.size(), 1u);
  const auto name = PatternOf(1).id;
  EXPECT_EQ(TakeBack(peer_, {}, {name}, kWallStart + 2).withdrawn.size(), 1u);
  EXPECT_EQ(node_.core().PatternWithdrawn(peer_.key().id(), name), kWallStart + 2);
  EXPECT_EQ(node_.core().PatternWithdrawn(other_.key().id(), name), std::nullopt);
  const Answers old = GivePattern(peer_, kWallStart + 2);
  EXPECT_THAT(old.accepted, IsEmpty());
  EXPECT_THAT(old.refused, ElementsAre(reasons::kWithdrawn));
  EXPECT_EQ(GivePattern(peer_, kWallStart + 3).accepted.size(), 1u);
  EXPECT_EQ(node_.core().Items().size(), 2u);
}

TEST_F(WithdrawalItemTest, AWithdrawalThatSaysMoreReplacesTheOlderOne) {
  ASSERT_EQ(peer_.Dial().closed, "");
  const Answers first = TakeBack(peer_, {Digest{1}});
  ASSERT_EQ(first.accepted.size(), 1u);
  const Answers second = TakeBack(peer_, {Digest{1}, Digest{2}}, {}, kWallStart + 1);
  ASSERT_EQ(second.accepted.size(), 1u);
  EXPECT_THAT(second.dropped, ElementsAre(first.accepted[0].id));
  EXPECT_THAT(second.withdrawn, IsEmpty());
  EXPECT_THAT(TakeBack(peer_, {Digest{2}}).accepted, IsEmpty()) << "nothing new";
  EXPECT_EQ(node_.core().Items().size(), 1u);
}

// Regression test: the withdrawal was stored, and the node ended before it acted on it. After the
// restart the item was dropped as if it had expired, and what had been made of it stayed.
TEST_F(WithdrawalItemTest, ARestartActsOnAWithdrawalThatWasStoredOnly) {
  ASSERT_EQ(peer_.Dial().closed, "");
  ASSERT_EQ(GivePattern(peer_, kWallStart).accepted.size(), 1u);
  std::vector<federation::Item> stored = node_.core().Items();
  TakeBack(peer_, {stored.at(0).id});
  stored.push_back(node_.core().Items().at(0));
  CoreUnderTest again;
  Answers restored;
  restored.Add(again.core().Restore(stored, again.now()));
  EXPECT_THAT(restored.withdrawn, ElementsAre(stored[0].id));
  EXPECT_THAT(restored.dropped, ElementsAre(stored[0].id));
}

}  // namespace
}  // namespace ruvd::test
