// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/link/signature_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "federation/membership/member_record.h"
#include "federation/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::IsEmpty;

size_t Taken(federation::SignatureBudget& budget, size_t tries) {
  size_t taken = 0;
  for (size_t i = 0; i < tries; ++i) {
    taken += budget.Take() ? 1 : 0;
  }
  return taken;
}

TEST(SignatureBudget, EachPeerHasItsShareAndTheNodeItsOwn) {
  federation::SignatureBudget budget;
  const TimePoint start{std::chrono::hours(1)};
  constexpr auto kOfPeer = static_cast<size_t>(limits::kCheckBurstOfPeer);
  constexpr auto kOfNode = static_cast<size_t>(limits::kCheckBurst);
  size_t total = 0;
  for (federation::LinkId link = 1; link <= 6; ++link) {
    budget.LinkUp(link);
    budget.Charge(link, /*awaited=*/false, start);
    const size_t taken = Taken(budget, 2 * kOfPeer);
    EXPECT_LE(taken, kOfPeer);
    total += taken;
  }
  EXPECT_EQ(total, kOfNode);
  EXPECT_GE(budget.put_off_of_link(), kOfPeer);
  EXPECT_GT(budget.put_off(), 0U);
  budget.Charge(0, /*awaited=*/false, start);
  EXPECT_EQ(Taken(budget, 10), 10U);  // this node's own
  budget.Charge(1, /*awaited=*/false, start + std::chrono::seconds(1));
  EXPECT_EQ(Taken(budget, 1000), static_cast<size_t>(limits::kChecksPerSecondOfPeer));
}

// Signatures beyond the budget are checked later, and their sender is not blamed.
TEST(SignatureBudget, WhoSendsMuchIsHeardLaterAndNotBlamed) {
  CoreUnderTest target;
  TestPeer peer(target, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  federation::MemberRecord record;
  record.certificate = peer.local().certificate;
  const int64_t now = target.now().wall_ms;
  const auto send = [&](int records) {
    WireFrame frame;
    for (int i = 0; i < records; ++i) {
      ++record.incarnation;
      *frame.mutable_member_delta()->add_records() = federation::ToProto(
          *peer.sealer().Seal(privacy::EnvelopePurpose::kMember, federation::kBodyMemberRecord, 0,
                              federation::EncodeMemberRecord(record), now, now + 60'000));
    }
    return peer.Send(frame);
  };
  Answers last;
  for (int i = 0; i < 34; ++i) {
    last = send(limits::kMaxRecordsPerFrame);
    ASSERT_THAT(last.refused, IsEmpty());
    ASSERT_EQ(last.closed, "");
  }
  EXPECT_GT(target.Refused(reasons::kBusy), 0U);
  EXPECT_GT(target.Limit("signature_checks_of_link").refused, 0U);
  EXPECT_EQ(target.core().ScoreOf(peer.key().id()), 0);
  const uint64_t busy = target.Refused(reasons::kBusy);
  target.Advance(std::chrono::seconds(1));
  send(static_cast<int>(limits::kChecksPerSecondOfPeer));
  EXPECT_EQ(target.Refused(reasons::kBusy), busy);
  for (const federation::Member& member : target.core().Members()) {
    EXPECT_TRUE(member.self || member.incarnation == record.incarnation);
  }
}

}  // namespace
}  // namespace ruvd::test
