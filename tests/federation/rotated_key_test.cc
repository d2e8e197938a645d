// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A node that replaced its key keeps its id, and its former key ends.

#include "tests/rotated_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/patterns/shared_pattern.h"
#include "privacy/identity/revocation_list.h"
#include "privacy/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using federation::ItemKind;
using testing::ElementsAre;
using testing::IsEmpty;

privacy::AdmissionCert CertificateOfRotated(const privacy::NodeKey& key, const std::string& name) {
  return *Authority().Issue({.node_key = key.public_key(),
                             .node_id = key.id(),
                             .key_epoch = key.epoch(),
                             .name = name,
                             .roles = privacy::roles::kMember,
                             .not_before_ms = kWallStart,
                             .not_after_ms = kWallStart + 20 * kDayMillis,
                             .serial = 2});
}

class RotatedKeyTest : public testing::Test {
 protected:
  // Node 1 after it replaced its key; `boot` is its boot counter.
  std::unique_ptr<TestPeer> Rotated(federation::LinkId link, uint64_t boot = 2) {
    return std::make_unique<TestPeer>(target_, 1, link, [this, boot](federation::LocalNode& local) {
      local.key = &rotated_;
      local.certificate = CertificateOfRotated(rotated_, "node-1");
      local.boot_counter = boot;
    });
  }
  std::unique_ptr<TestPeer> Former(federation::LinkId link, uint64_t boot = 1) {
    return std::make_unique<TestPeer>(
        target_, 1, link, [boot](federation::LocalNode& local) { local.boot_counter = boot; });
  }
  privacy::RevocationList EndFormer() const {
    return RevokeNodes({}, {}, kWallStart, privacy::ClusterAuthority::FromSeed(SeedOf(1000)),
                       {{.id = rotated_.id(), .least_epoch = 1}})
        .value();
  }
  Answers Learn(const privacy::RevocationList& list) {
    Answers answers;
    answers.Add(target_.core().SetRevocations(list, target_.now()).value());
    return answers;
  }

  const privacy::NodeKey rotated_ = RotatedKey(SeedOf(1), SeedOf(501));
  CoreUnderTest target_;
  const std::string payload_ = federation::EncodeSharedPattern(PatternOf(1));
};

TEST_F(RotatedKeyTest, TheNextKeyIsTheSameMember) {
  const auto former = Former(7);
  ASSERT_EQ(former->Dial().closed, "");
  const auto rotated = Rotated(8);
  EXPECT_EQ(rotated->Dial().closed, reasons::kDuplicateLink) << "it has one link, the newer one";
  EXPECT_EQ(target_.core().Members().size(), 1U);
  const Answers accepted =
      rotated->Serve(rotated->Push(rotated->Manifest(ItemKind::kPattern, payload_)), payload_);
  ASSERT_EQ(accepted.accepted.size(), 1U);
  EXPECT_EQ(accepted.accepted[0].origin, former->key().id());
}

// Until the list of the authority ends the former key, what it signed counts: it may be under way.
TEST_F(RotatedKeyTest, TheFormerKeyEndsWithTheListAndNotBefore) {
  const auto former = Former(7);
  const privacy::Envelope manifest = former->Manifest(ItemKind::kPattern, payload_);
  const auto rotated = Rotated(8);
  ASSERT_EQ(rotated->Dial().closed, "");
  ASSERT_EQ(rotated->Serve(rotated->Push(manifest), payload_).accepted.size(), 1U);
  const std::vector<federation::Item> stored = target_.core().Items();

  const privacy::RevocationList list = EndFormer();
  const Answers ended = Learn(list);
  EXPECT_THAT(ended.dropped, ElementsAre(stored[0].id));
  EXPECT_THAT(ended.withdrawn, IsEmpty()) << "what was learned from it stays";
  EXPECT_EQ(ended.closed, "") << "the link of the present key stays";
  EXPECT_EQ(target_.core().StandingOf(rotated_.id()), federation::MemberStanding::kGood);
  EXPECT_EQ(Former(9)->Dial().closed, reasons::kKeyEpochRefused);

  // Others may not have heard of it, and are not to blame.
  TestPeer other(target_, 2, 10);
  ASSERT_EQ(other.Dial().closed, "");
  const Answers passed_on =
      other.Push(Former(11, /*boot=*/2)->Manifest(ItemKind::kPattern, payload_));
  EXPECT_EQ(passed_on.Find(WireFrame::kChunkRequest), nullptr);
  EXPECT_THAT(passed_on.refused, ElementsAre(reasons::kKeyEpochRefused));
  EXPECT_EQ(target_.core().ScoreOf(other.key().id()), 0);

  // The node offers the same pattern again under its next key.
  EXPECT_EQ(rotated->Serve(rotated->Push(rotated->Manifest(ItemKind::kPattern, payload_)), payload_)
                .accepted.size(),
            1U);

  CoreUnderTest restarted;
  ASSERT_TRUE(restarted.core().SetRevocations(list, restarted.now()).ok());
  Answers restored;
  restored.Add(restarted.core().Restore(stored, restarted.now()));
  EXPECT_THAT(restored.dropped, ElementsAre(stored[0].id));
}

TEST_F(RotatedKeyTest, AnOpenLinkOfTheFormerKeyEnds) {
  const auto former = Former(7);
  ASSERT_EQ(former->Dial().closed, "");
  EXPECT_EQ(Learn(EndFormer()).closed, reasons::kKeyEpochRefused);
}

// A thief of the former key could name boots and incarnations that its node never reaches.
TEST_F(RotatedKeyTest, AThiefOfTheFormerKeyDoesNotOutrunItsNode) {
  const auto thief = Former(7, /*boot=*/1'000'000);
  ASSERT_EQ(thief->Dial().closed, "");
  ASSERT_EQ(thief->Serve(thief->Push(thief->Manifest(ItemKind::kPattern, payload_)), payload_)
                .accepted.size(),
            1U);
  const auto record = [&](TestPeer& peer, uint64_t incarnation) {
    federation::MemberRecord said{.certificate = peer.local().certificate,
                                  .incarnation = incarnation,
                                  .model_hash = peer.local().model_hash,
                                  .frame_id = peer.local().frame_id,
                                  .address = "node-1:7000"};
    const auto envelope =
        peer.sealer().Seal(privacy::EnvelopePurpose::kMember, federation::kBodyMemberRecord, 0,
                           EncodeMemberRecord(said), kWallStart, kWallStart + 600'000);
    WireFrame frame;
    *frame.mutable_member_delta()->add_records() = federation::ToProto(*envelope);
    return frame;
  };
  ASSERT_THAT(thief->Send(record(*thief, 1'000'000ULL << 32)).refused, IsEmpty());
  Learn(EndFormer());

  const auto rotated = Rotated(8, /*boot=*/3);
  ASSERT_EQ(rotated->Dial().closed, "");
  ASSERT_THAT(rotated->Send(record(*rotated, 3ULL << 32)).refused, IsEmpty());
  const auto members = target_.core().Members();
  const auto member = std::ranges::find(members, rotated_.id(), &federation::Member::id);
  ASSERT_NE(member, members.end());
  EXPECT_EQ(member->incarnation, 3ULL << 32);
  EXPECT_EQ(rotated->Serve(rotated->Push(rotated->Manifest(ItemKind::kPattern, payload_)), payload_)
                .accepted.size(),
            1U);
}

TEST_F(RotatedKeyTest, ANodeOffersWhatItHasAgainUnderItsNextKey) {
  const auto made = [](const privacy::NodeKey& key) {
    federation::GossipConfig config = ConfigFor(key, 1);
    config.certificate = CertificateOfRotated(key, "node-1");
    auto core = *federation::GossipCore::Create(std::move(config), key, EntropyOf(1), 1, At({}));
    core->SetConsent(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, kWallStart, key),
                     At({}))
        .value();
    return core;
  };
  const privacy::NodeKey first = privacy::NodeKey::FromSeed(SeedOf(1));
  const auto before = made(first);
  ASSERT_TRUE(before->OfferPattern(PatternOf(1), At({})).ok());
  const std::vector<federation::Item> items = before->Items();
  ASSERT_EQ(items.size(), 1U);

  const auto after = made(rotated_);
  Answers restored;
  restored.Add(after->Restore(items, At({})));
  EXPECT_THAT(restored.dropped, ElementsAre(items[0].id));
  EXPECT_THAT(restored.withdrawn, IsEmpty()) << "peers keep what they learned";
  ASSERT_TRUE(after->OfferPattern(PatternOf(1), At({})).ok());
  EXPECT_EQ(privacy::ParseHeader(AsBytes(after->Items()[0].envelope->header))->key_epoch, 1U);
}

// Found by the simulator: the node says again under its next key what it withdrew, which had no
// effect where the first withdrawal was known, and that one ended with its key.
TEST_F(RotatedKeyTest, AWithdrawalOutlivesTheKeyThatSignedIt) {
  const auto withdrawal = [](const privacy::NodeKey& key) {
    return privacy::Withdrawal::Sign({Digest{9}}, /*everything=*/false, kWallStart, key)
        .value()
        .Encode();
  };
  const auto former = Former(7);
  ASSERT_EQ(former->Dial().closed, "");
  const std::string first = withdrawal(former->key());
  const privacy::Envelope of_former = former->Manifest(ItemKind::kWithdrawal, first);
  ASSERT_EQ(former->Serve(former->Push(of_former), first).accepted.size(), 1U);
  const auto rotated = Rotated(8);
  rotated->Dial();
  const std::string again = withdrawal(rotated_);
  const Answers taken =
      rotated->Serve(rotated->Push(rotated->Manifest(ItemKind::kWithdrawal, again)), again);
  ASSERT_EQ(taken.accepted.size(), 1U);
  EXPECT_EQ(target_.core().Items().size(), 1U) << "it takes the place of the first one";
  // The first one comes late from another member.
  TestPeer other(target_, 2, 10);
  ASSERT_EQ(other.Dial().closed, "");
  EXPECT_THAT(
      other.Serve(other.Push(former->Manifest(ItemKind::kWithdrawal, first)), first).accepted,
      IsEmpty());
  Learn(EndFormer());
  EXPECT_EQ(target_.core().Items().size(), 1U);
}

// Otherwise a liar could replace its key to be free of what it said.
TEST_F(RotatedKeyTest, WhatAFormerKeyProvedStaysProven) {
  const auto former = Former(7);
  ASSERT_EQ(former->Dial().closed, "");
  federation::LocalNode again = former->local();
  federation::Sealer twin(again, EntropyOf(77));  // counts its messages anew
  const privacy::Envelope one = former->Manifest(ItemKind::kPattern, payload_);
  ruvd::federation::Manifest other;
  other.certificate = again.certificate;
  other.kind = ItemKind::kPattern;
  other.payload_bytes = 5;
  other.payload_root = federation::MerkleTree("other").root();
  other.model_hash = again.model_hash;
  other.frame_id = again.frame_id;
  const privacy::Envelope two =
      *twin.Seal(privacy::EnvelopePurpose::kPattern, federation::kBodyManifest, 1,
                 federation::EncodeManifest(other), kWallStart, kWallStart + kDayMillis);
  former->Push(one);
  former->Push(two);
  ASSERT_EQ(target_.core().StandingOf(rotated_.id()), federation::MemberStanding::kEquivocated);
  Learn(EndFormer());
  EXPECT_EQ(target_.core().StandingOf(rotated_.id()), federation::MemberStanding::kEquivocated);
}

TEST_F(RotatedKeyTest, ACertificateOfAnotherIdOrEpochIsRefusedAtStart) {
  const privacy::NodeKey first = privacy::NodeKey::FromSeed(SeedOf(501));
  federation::GossipConfig config = ConfigFor(first, 1);  // of the same key, under its own id
  EXPECT_EQ(
      ReasonOf(federation::GossipCore::Create(std::move(config), rotated_, EntropyOf(1), 1, At({}))
                   .status()),
      reasons::kKeyInvalid);
}

}  // namespace
}  // namespace ruvd::test
