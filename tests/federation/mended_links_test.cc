// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Links that end with a former certificate are dialled again soon; items are refused if their
// author was revoked while they were fetched.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/reasons.h"
#include "federation/reasons.h"
#include "privacy/identity/revocation_list.h"
#include "privacy/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kSoon = std::chrono::minutes(5);
constexpr Duration kDialTick = std::chrono::milliseconds(200);

// Returns how often a node dials its seed in five minutes after the peer there ended the link for
// `reason`.
size_t DialsAfter(const char* reason, int64_t own_not_after_ms) {
  CoreUnderTest node(0, [&](federation::GossipConfig& config) {
    config.seeds = {AddressOf(1)};
    config.certificate =
        CertificateFor(privacy::NodeKey::FromSeed(SeedOf(0)), "node-0", Authority(),
                       privacy::roles::kMember, kWallStart - kDayMillis, own_not_after_ms);
  });
  Answers first;
  first.Add(node.core().OnTick(node.now()));
  EXPECT_THAT(first.dials, ElementsAre(AddressOf(1)));
  constexpr federation::LinkId kLink = 7;
  node.core().OnLinkOpened(kLink, AddressOf(1), node.now());
  node.Advance(std::chrono::seconds(10));
  WireFrame goaway;
  goaway.mutable_goaway()->set_reason(reason);
  Answers ended;
  ended.Add(node.core().OnFrame(kLink, goaway, node.now()));
  EXPECT_EQ(ended.closed, reason) << "it is said as the peer says it";
  Answers later;
  for (Duration waited{}; waited < kSoon; waited += kDialTick) {
    node.Advance(kDialTick);
    later.Add(node.core().OnTick(node.now()));
  }
  return later.dials.size();
}

// Regression test: peers end links whose certificate has expired. A node that already had the next
// certificate waited as after a refusal, although it could have linked again at once.
TEST(MendedLinks, TheEndOfAFormerCertificateCostsNoLongWait) {
  const int64_t good_ms = kWallStart + kDayMillis;
  const int64_t over_ms = kWallStart + 5'000;
  const size_t renewed = DialsAfter(reasons::kCertificateExpired, good_ms);
  EXPECT_GT(renewed, 0U);
  EXPECT_EQ(renewed, DialsAfter(reasons::kDuplicateLink, good_ms));
  EXPECT_LT(DialsAfter(reasons::kCertificateExpired, over_ms), renewed)
      << "the own one is over, so it stays refused";
  EXPECT_LT(DialsAfter(reasons::kCertificateForeign, good_ms), renewed);
}

// Regression test: the item was stored and used, because only items that were complete when the
// list came were dropped.
TEST(MendedLinks, AnItemOfWhoIsRevokedWhileItIsFetchedIsNotTaken) {
  for (const bool revoked : {false, true}) {
    federation::UpdateRules rules = Updates();
    rules.rank_of_target[kTarget] = 256;
    rules.max_norm = 100;
    CoreUnderTest target(
        0, [&rules](federation::GossipConfig& config) { config.pattern_rules.cores = rules; });
    TestPeer author(target, 1, 7);
    TestPeer holder(target, 2, 8);
    ASSERT_EQ(holder.Dial().closed, "");
    federation::SharedPattern pattern = PatternOf(1);
    pattern.cores = SomeCores(1, rules);
    const std::string payload = federation::EncodeSharedPattern(pattern);
    ASSERT_GT(payload.size(), limits::kChunkBytes);
    // Another member passes it on.
    const privacy::Envelope envelope = author.Manifest(federation::ItemKind::kPattern, payload);
    Answers asked = holder.Push(envelope);
    ASSERT_NE(asked.Find(WireFrame::kChunkRequest), nullptr);
    asked = holder.Send(
        TestPeer::ChunkOf(asked.Find(WireFrame::kChunkRequest)->chunk_request(), payload));
    if (revoked) {
      const auto list = privacy::RevokeNodes(
          {}, {author.key().id()}, target.now().wall_ms,
          privacy::ClusterAuthority::FromSeed(SeedOf(1000)));  // of Authority()
      ASSERT_TRUE(list.ok()) << list.status();
      ASSERT_TRUE(target.core().SetRevocations(*list, target.now()).ok());
    }
    const Answers done = holder.Serve(asked, payload);
    EXPECT_EQ(done.accepted.size(), revoked ? 0U : 1U);
    EXPECT_EQ(done.closed, "") << "who passed it on is not to blame";
    EXPECT_THAT(done.refused, IsEmpty());
    EXPECT_EQ(target.core().Items().size(), revoked ? 0U : 1U);
    EXPECT_EQ(holder.Push(envelope).Find(WireFrame::kChunkRequest), nullptr) << "not fetched again";
  }
}

}  // namespace
}  // namespace ruvd::test
