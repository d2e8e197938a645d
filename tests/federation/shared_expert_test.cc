// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Experts: their bytes, what gossip accepts, and who keeps which.

#include "federation/patterns/shared_expert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/item_table.h"
#include "federation/gossip/manifest.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "privacy/consent/withdrawal.h"
#include "tests/federation/fixture.h"
#include "tests/federation/swarm.h"
#include "tests/federation/test_peer.h"
#include "tests/paths.h"

namespace ruvd::test {
namespace {

using federation::Item;
using federation::ItemKind;
using federation::SharedExpert;
using testing::ElementsAre;
using testing::IsEmpty;

SharedExpert ExpertOf(uint32_t version, size_t bytes = 100) {
  return {.version = version,
          .lessons = 17,
          .created_ms = kWallStart,
          .file = "GGUF" + std::string(bytes, static_cast<char>(version))};
}

// ---- Bytes

// The worked example of docs/wire-format.md; the bytes come from Python's struct.
TEST(SharedExpert, IsTheWorkedExample) {
  const SharedExpert expert{.version = 2,
                            .lessons = 17,
                            .created_ms = 1'800'000'000'000,
                            .file = {'G', 'G', 'U', 'F', 3, 0, 0, 0}};
  const std::string hex = "0100020000001100000000505c18a3010000080000004747554603000000";
  EXPECT_EQ(ToHex(AsBytes(federation::EncodeSharedExpert(expert))), hex);
  auto document = ReadFile(SourceDir() + "/docs/wire-format.md", 1 << 20);
  ASSERT_TRUE(document.ok()) << document.status();
  std::erase_if(*document, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_NE(document->find(hex), std::string::npos);
}

SharedExpert ArbitraryExpert() {
  return {.version = *rc::gen::arbitrary<uint32_t>(),
          .lessons = *rc::gen::arbitrary<uint32_t>(),
          .created_ms = *rc::gen::arbitrary<int64_t>(),
          .file = *rc::gen::arbitrary<std::string>()};
}

RC_GTEST_PROP(SharedExpert, SurvivesEncoding, ()) {
  const SharedExpert expert = ArbitraryExpert();
  const std::string bytes = federation::EncodeSharedExpert(expert);
  RC_ASSERT(bytes.size() == federation::kSharedExpertHeaderBytes + expert.file.size());
  const auto decoded = federation::DecodeSharedExpert(AsBytes(bytes));
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == expert);
}

RC_GTEST_PROP(SharedExpert, RefusesEveryTruncationAndExtension, ()) {
  std::string bytes = federation::EncodeSharedExpert(ArbitraryExpert());
  const auto reason = [](std::span<const uint8_t> from) {
    return ReasonOf(federation::DecodeSharedExpert(from).status());
  };
  for (size_t length = 0; length < bytes.size(); ++length) {
    RC_ASSERT(reason(AsBytes(bytes).first(length)) == reasons::kUpdateInvalid);
  }
  bytes += *rc::gen::arbitrary<char>();
  RC_ASSERT(reason(AsBytes(bytes)) == reasons::kUpdateInvalid);
}

TEST(SharedExpert, ClaimsOfOtherVersionsAndLengthsAreRefused) {
  const std::string good = federation::EncodeSharedExpert(ExpertOf(1));
  const auto refused = [&good](size_t offset, std::string_view change) {
    std::string bytes = good;
    bytes.replace(offset, change.size(), change);
    return ReasonOf(federation::DecodeSharedExpert(AsBytes(bytes)).status());
  };
  EXPECT_EQ(refused(0, "\x01"), "");
  EXPECT_EQ(refused(0, "\x02"), reasons::kUpdateInvalid);
  const size_t length = federation::kSharedExpertHeaderBytes - sizeof(uint32_t);
  EXPECT_EQ(refused(length, "\xff\xff\xff\xff"), reasons::kUpdateInvalid);
  EXPECT_EQ(refused(length, std::string_view("\0", 1)), reasons::kUpdateInvalid);
}

TEST(SharedExpert, ChecksEveryField) {
  const auto reason_of = [](auto change) {
    SharedExpert expert = ExpertOf(1);
    change(expert);
    return ReasonOf(federation::CheckSharedExpert(expert));
  };
  EXPECT_EQ(reason_of([](auto&) {}), "");
  EXPECT_EQ(reason_of([](auto& e) { e.file = "GGUF"; }), "") << "the node reads it, not this";
  EXPECT_EQ(reason_of([](auto& e) { e.version = 0; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& e) { e.lessons = 0; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& e) { e.created_ms = 0; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& e) { e.created_ms = std::numeric_limits<int64_t>::min(); }),
            reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& e) { e.file.clear(); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& e) { e.file = "GGU"; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& e) { e.file[0] = 'g'; }), reasons::kUpdateInvalid);
}

// ---- Items

TEST(ExpertItem, HasItsNameAndTravelsUnderThePurposeOfPatterns) {
  EXPECT_EQ(ItemKindName(ItemKind::kExpert), "expert");
  EXPECT_EQ(PurposeOf(ItemKind::kExpert), privacy::EnvelopePurpose::kPattern);
  EXPECT_FALSE(IsLearnerItem(ItemKind::kExpert) || IsMaskItem(ItemKind::kExpert));
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(SeedOf(1));
  federation::Manifest manifest;
  manifest.certificate = CertificateFor(key, "node-1");
  manifest.kind = ItemKind::kExpert;
  manifest.payload_bytes = limits::kMaxPayloadBytes;
  const auto decoded = federation::DecodeManifest(AsBytes(EncodeManifest(manifest)));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->kind, ItemKind::kExpert);
  manifest.kind = static_cast<ItemKind>(static_cast<uint8_t>(ItemKind::kMaskCommitment) + 1);
  EXPECT_EQ(ReasonOf(federation::DecodeManifest(AsBytes(EncodeManifest(manifest))).status()),
            reasons::kEnvelopeMalformed)
      << "no kind has this number";
}

TEST(ExpertItem, OnlyTheNewestOfAnOriginIsKept) {
  federation::ItemTable table;
  const auto item_of = [](uint8_t number, uint8_t origin, ItemKind kind = ItemKind::kExpert) {
    Item item;
    item.id = {number};
    item.kind = kind;
    item.origin = {origin};
    item.created_ms = number;
    item.expires_ms = 1000;
    item.payload = std::make_shared<const std::string>("x");
    return item;
  };
  EXPECT_TRUE(table.Insert(item_of(2, 1)).dropped.empty());
  EXPECT_TRUE(table.Insert(item_of(3, 2)).dropped.empty()) << "of another origin";
  EXPECT_TRUE(table.Insert(item_of(4, 1, ItemKind::kPattern)).dropped.empty());
  const auto newer = table.Insert(item_of(5, 1));
  EXPECT_TRUE(newer.kept);
  ASSERT_EQ(newer.dropped.size(), 1U);
  EXPECT_EQ(newer.dropped[0].id, Digest{2});
  EXPECT_TRUE(table.HasTombstone({2}));
  EXPECT_FALSE(table.Insert(item_of(1, 1)).kept) << "older than the one that is kept";
  EXPECT_EQ(table.items().size(), 3U);
}

// The reason of limits::kMaxPayloadMemory: experts of rank 32 for a 29M model
TEST(ExpertItem, ThereIsRoomForThoseOfSixteenNodes) {
  constexpr uint64_t kRank32Bytes = 5 << 20;
  EXPECT_LE(kRank32Bytes, limits::kMaxPayloadBytes);
  EXPECT_LE(16 * kRank32Bytes, limits::kMaxPayloadMemory);
}

// ---- One core

class ExpertInCore : public ::testing::Test {
 protected:
  Answers Consent(CoreUnderTest& node, privacy::ConsentTier tier) {
    Answers answers;
    answers.Add(*node.core().SetConsent(
        privacy::ConsentRecord::Sign(tier, node.now().wall_ms, node.key()), node.now()));
    return answers;
  }
  absl::StatusOr<federation::Actions> Offer(const SharedExpert& expert) {
    return node_.core().OfferExpert(expert, node_.now());
  }
  Item Offered(const SharedExpert& expert) {
    Answers answers;
    answers.Add(*Offer(expert));
    EXPECT_EQ(answers.accepted.size(), 1U);
    return answers.accepted.at(0);
  }

  CoreUnderTest node_;
};

TEST_F(ExpertInCore, OnlyTheTierPublicLetsItLeave) {
  for (const auto tier :
       {privacy::ConsentTier::kPrivate, privacy::ConsentTier::kMasked, privacy::ConsentTier::kDp}) {
    Consent(node_, tier);
    EXPECT_EQ(ReasonOf(Offer(ExpertOf(1)).status()), reasons::kConsentMissing);
  }
  EXPECT_TRUE(node_.core().Items().empty());
  Consent(node_, privacy::ConsentTier::kPublic);
  const Item item = Offered(ExpertOf(1));
  EXPECT_EQ(item.kind, ItemKind::kExpert);
  EXPECT_EQ(item.origin, node_.key().id());
  EXPECT_EQ(item.expires_ms - item.created_ms, limits::kItemLifeMillis);
  EXPECT_EQ(*federation::DecodeSharedExpert(AsBytes(*item.payload)), ExpertOf(1));
}

TEST_F(ExpertInCore, OffersAreCheckedBeforeTheyAreSigned) {
  Consent(node_, privacy::ConsentTier::kPublic);
  EXPECT_EQ(ReasonOf(Offer(ExpertOf(0)).status()), reasons::kUpdateInvalid);
  SharedExpert expert = ExpertOf(1);
  expert.file =
      "GGUF" + std::string(limits::kMaxPayloadBytes - federation::kSharedExpertHeaderBytes - 3, 0);
  EXPECT_EQ(ReasonOf(Offer(expert).status()), reasons::kLimitExceeded);
  EXPECT_TRUE(node_.core().Items().empty());
  expert.file.pop_back();
  EXPECT_TRUE(Offer(expert).ok()) << "the largest that fits";
}

TEST_F(ExpertInCore, ANewerOneTakesThePlaceOfTheOlder) {
  Consent(node_, privacy::ConsentTier::kPublic);
  const Item older = Offered(ExpertOf(1));
  node_.Advance(std::chrono::seconds(1));
  Answers answers;
  answers.Add(*Offer(ExpertOf(2)));
  EXPECT_THAT(answers.dropped, ElementsAre(older.id));
  ASSERT_EQ(node_.core().Items().size(), 1U);
  EXPECT_EQ(*node_.core().Items()[0].payload, federation::EncodeSharedExpert(ExpertOf(2)));
}

TEST_F(ExpertInCore, LoweringTheTierWithdrawsIt) {
  for (const auto tier :
       {privacy::ConsentTier::kDp, privacy::ConsentTier::kMasked, privacy::ConsentTier::kPrivate}) {
    Consent(node_, privacy::ConsentTier::kPublic);
    const Item item = Offered(ExpertOf(1));
    EXPECT_THAT(Consent(node_, privacy::ConsentTier::kPublic).dropped, IsEmpty());
    const Answers lowered = Consent(node_, tier);
    EXPECT_THAT(lowered.dropped, ElementsAre(item.id));
    EXPECT_TRUE(node_.core().Items().empty());
    node_.Advance(std::chrono::seconds(1));
  }
}

TEST_F(ExpertInCore, WithdrawItemsWithdrawsTheOneThatIsNamed) {
  Consent(node_, privacy::ConsentTier::kPublic);
  const Item item = Offered(ExpertOf(1));
  Answers other;
  other.Add(node_.core().WithdrawItems({{Digest{7}}}));
  EXPECT_THAT(other.dropped, IsEmpty());
  Answers named;
  named.Add(node_.core().WithdrawItems({{item.id}}));
  EXPECT_THAT(named.dropped, ElementsAre(item.id));
  EXPECT_TRUE(node_.core().Items().empty());
}

TEST_F(ExpertInCore, RestoreKeepsItUnderTheTierPublicOnly) {
  Consent(node_, privacy::ConsentTier::kPublic);
  const Item own = Offered(ExpertOf(1));
  for (const auto tier : {privacy::ConsentTier::kPublic, privacy::ConsentTier::kDp}) {
    CoreUnderTest again(0, [](federation::GossipConfig& c) { c.boot_counter = 2; });
    Consent(again, tier);
    Answers restored;
    restored.Add(
        again.core().Restore({*federation::MakeItem(*own.envelope, *own.payload)}, again.now()));
    EXPECT_EQ(restored.dropped.size(), tier == privacy::ConsentTier::kPublic ? 0U : 1U);
    EXPECT_EQ(again.core().Items().size(), tier == privacy::ConsentTier::kPublic ? 1U : 0U);
  }
}

// ---- From a peer

TEST_F(ExpertInCore, APeersExpertIsCheckedAndReplacedByItsNewerOne) {
  TestPeer peer(node_, 1, 1);
  ASSERT_EQ(peer.Dial().closed, "");
  const auto give = [&](const SharedExpert& expert) {
    const std::string payload = federation::EncodeSharedExpert(expert);
    return peer.Serve(peer.Push(peer.Manifest(ItemKind::kExpert, payload)), payload);
  };
  const Answers older = give(ExpertOf(1));
  ASSERT_EQ(older.accepted.size(), 1U);
  EXPECT_EQ(older.accepted[0].origin, peer.key().id());
  node_.Advance(std::chrono::seconds(1));
  const Answers newer = give(ExpertOf(2));
  EXPECT_EQ(newer.accepted.size(), 1U);
  EXPECT_THAT(newer.dropped, ElementsAre(older.accepted[0].id));
  node_.Advance(std::chrono::seconds(1));
  const Answers bad = give(ExpertOf(0));
  EXPECT_THAT(bad.accepted, IsEmpty());
  EXPECT_THAT(bad.refused, ElementsAre(reasons::kUpdateInvalid));
  ASSERT_EQ(node_.core().Items().size(), 1U);
  EXPECT_EQ(node_.core().Items()[0].id, newer.accepted[0].id);
}

TEST_F(ExpertInCore, WhatAPeerTakesBackLeavesAndStaysAway) {
  TestPeer peer(node_, 1, 1);
  ASSERT_EQ(peer.Dial().closed, "");
  const std::string payload = federation::EncodeSharedExpert(ExpertOf(1));
  const privacy::Envelope manifest = peer.Manifest(ItemKind::kExpert, payload);
  const Answers given = peer.Serve(peer.Push(manifest), payload);
  ASSERT_EQ(given.accepted.size(), 1U);
  const auto withdrawal = privacy::Withdrawal::Sign({given.accepted[0].id}, /*everything=*/false,
                                                    node_.now().wall_ms, peer.key());
  ASSERT_TRUE(withdrawal.ok()) << withdrawal.status();
  const std::string taken = withdrawal->Encode();
  const Answers back = peer.Serve(peer.Push(peer.Manifest(ItemKind::kWithdrawal, taken)), taken);
  EXPECT_THAT(back.withdrawn, ElementsAre(given.accepted[0].id));
  EXPECT_EQ(node_.core().Items().size(), 1U) << "the withdrawal";
  TestPeer other(node_, 2, 2);
  ASSERT_EQ(other.Dial().closed, "");
  EXPECT_EQ(other.Push(manifest).Find(WireFrame::kChunkRequest), nullptr);
}

// ---- A cluster

// Returns the versions of the experts that a node holds.
std::vector<uint32_t> VersionsAt(Swarm& swarm, size_t node) {
  std::vector<uint32_t> versions;
  for (const Item& item : swarm.core(node).Items()) {
    const auto expert = federation::DecodeSharedExpert(AsBytes(*item.payload));
    if (item.kind == ItemKind::kExpert && expert.ok()) {
      versions.push_back(expert->version);
    }
  }
  return versions;
}

TEST(ExpertInSwarm, ReachesAllMembersAndANewerOneReplacesIt) {
  Swarm swarm({.nodes = 4});
  swarm.Run(std::chrono::seconds(3));
  swarm.Share(0);
  for (const uint32_t version : {1U, 2U}) {
    const SharedExpert expert = ExpertOf(version, 3 * limits::kChunkBytes);
    auto offered = swarm.core(0).OfferExpert(expert, swarm.now());
    ASSERT_TRUE(offered.ok()) << offered.status();
    swarm.Apply(0, *std::move(offered));
    EXPECT_TRUE(swarm.RunUntil(
        [&] {
          for (size_t node = 0; node < swarm.size(); ++node) {
            if (VersionsAt(swarm, node) != std::vector<uint32_t>{version}) {
              return false;
            }
          }
          return true;
        },
        std::chrono::seconds(20)))
        << version;
  }
  EXPECT_TRUE(swarm.Converged(1));
  EXPECT_EQ(swarm.core(1).counters().accepted_items.at("expert"), 2U);
}

}  // namespace
}  // namespace ruvd::test
