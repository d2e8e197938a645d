// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests which nodes are no longer accepted, and for how long a list must say so.

#include "privacy/identity/revocation_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr int64_t kDay = 24LL * 3600 * 1000;
constexpr int64_t kStart = 1'800'000'000'000;

// A certificate as far as a list looks at it.
AdmissionCert CertificateOf(const NodeId& node, int64_t not_after_ms = kStart + kDay) {
  AdmissionCert certificate;
  certificate.node_id = node;
  certificate.name = "edge";
  certificate.not_after_ms = not_after_ms;
  return certificate;
}

std::vector<NodeId> IdsOf(const RevocationList& list) {
  std::vector<NodeId> ids;
  for (const RevokedNode& node : list.nodes) {
    ids.push_back(node.id);
  }
  return ids;
}

class RevocationsTest : public testing::Test {
 protected:
  RevocationList After(const RevocationList& former, const std::vector<NodeId>& nodes,
                       int64_t now_ms = kStart) {
    return RevokeNodes(former, nodes, now_ms, issuer_).value();
  }
  std::string RefusalOf(const AdmissionCert& certificate) const {
    return ReasonOf(revocations_.Require(certificate));
  }
  const ClusterAuthority issuer_ = ClusterAuthority::FromSeed(KeySeed{1});
  Revocations revocations_{issuer_.public_key()};
};

TEST_F(RevocationsTest, AListOnlyGrowsWhileCertificatesMayBeValid) {
  const RevocationList one = After({}, {NodeId{5}});
  const RevocationList two = After(one, {NodeId{3}, NodeId{5}}, kStart + 1000);
  EXPECT_EQ(two.number, 2U);
  EXPECT_EQ(two.nodes.size(), 2U);
  EXPECT_EQ(two.nodes[1], one.nodes[0]) << "it was revoked before";
  EXPECT_TRUE(revocations_.Require(CertificateOf(NodeId{5})).ok());
  ASSERT_TRUE(revocations_.Take(one).ok());
  EXPECT_EQ(RefusalOf(CertificateOf(NodeId{5})), reasons::kNodeRevoked);
  ASSERT_TRUE(revocations_.Take(two).ok());
  ASSERT_TRUE(revocations_.Take(two).ok());  // again
  EXPECT_EQ(ReasonOf(revocations_.Take(one)), reasons::kRevocationInvalid);
  // A list that leaves out a revoked node is refused, even if the issuer signed it.
  RevocationList other = After({}, {NodeId{3}}, kStart + 3000);
  other = After(other, {}, kStart + 3000);
  other = After(other, {}, kStart + 3000);
  ASSERT_EQ(other.number, 3U);
  EXPECT_EQ(ReasonOf(revocations_.Take(other)), reasons::kRevocationInvalid);
  // This is another list with the same number.
  EXPECT_EQ(ReasonOf(revocations_.Take(After(one, {NodeId{4}}, kStart + 2000))),
            reasons::kRevocationInvalid);
  EXPECT_EQ(revocations_.list(), two);
}

// Found by a security review: a list never shrank, although certificates end after 30 days.
TEST_F(RevocationsTest, AListKeptNodesWhoseCertificatesHadEnded) {
  RevocationList list = After({}, {NodeId{5}});
  const int64_t ends_ms = kStart + limits::kRevocationLifeMillis;
  const int64_t pruned_ms = ends_ms + limits::kCertificateClockSkewMillis;
  ASSERT_TRUE(revocations_.Take(list).ok());
  list = After(list, {NodeId{6}}, pruned_ms - 1);
  EXPECT_THAT(IdsOf(list), testing::ElementsAre(NodeId{5}, NodeId{6}));
  list = After(list, {}, pruned_ms);
  EXPECT_THAT(IdsOf(list), testing::ElementsAre(NodeId{6}));
  EXPECT_EQ(list.covers_from_ms, ends_ms);
  ASSERT_TRUE(revocations_.Take(list).ok());
  // The node does not come back, not even to a node whose clock is slow.
  EXPECT_EQ(RefusalOf(CertificateOf(NodeId{5}, kStart + limits::kMaxCertificateMillis)),
            reasons::kCertificateExpired);
  EXPECT_EQ(RefusalOf(CertificateOf(NodeId{5}, ends_ms)), reasons::kCertificateExpired);
  EXPECT_TRUE(revocations_.Require(CertificateOf(NodeId{7}, ends_ms + 1)).ok());
}

TEST_F(RevocationsTest, AFormerKeyEndsAndItsNodeStays) {
  const auto ending = [this](const RevocationList& former, uint32_t least, int64_t now_ms) {
    return RevokeNodes(former, {}, now_ms, issuer_, {{.id = NodeId{5}, .least_epoch = least}})
        .value();
  };
  AdmissionCert of_first = CertificateOf(NodeId{5});
  AdmissionCert of_next = of_first;
  of_next.key_epoch = 1;
  const RevocationList one = ending({}, 1, kStart);
  EXPECT_EQ(RevocationList::Parse(AsBytes(one.Encode())).value(), one);
  ASSERT_TRUE(revocations_.Take(one).ok());
  EXPECT_EQ(RefusalOf(of_first), reasons::kKeyEpochRefused);
  EXPECT_TRUE(revocations_.Require(of_next).ok());
  EXPECT_FALSE(revocations_.list().Revokes(NodeId{5}));
  // A later list ends more of a node's keys, or the node itself, and never fewer.
  RevocationList fewer = ending({}, 0, kStart);
  fewer = After(fewer, {}, kStart);
  EXPECT_EQ(ReasonOf(revocations_.Take(fewer)), reasons::kRevocationInvalid);
  const RevocationList two = ending(one, 2, kStart + 1000);
  ASSERT_TRUE(revocations_.Take(two).ok());
  EXPECT_EQ(RefusalOf(of_next), reasons::kKeyEpochRefused);
  EXPECT_EQ(ending(two, 1, kStart + 2000).nodes, two.nodes) << "the later key stays the least";
  const RevocationList all = After(two, {NodeId{5}}, kStart + 2000);
  ASSERT_TRUE(revocations_.Take(all).ok());
  of_next.key_epoch = 9;
  EXPECT_EQ(RefusalOf(of_next), reasons::kNodeRevoked);
  EXPECT_EQ(ending(all, 3, kStart + 3000).nodes, all.nodes) << "a revoked node stays revoked";
  EXPECT_EQ(RevokeNodes({}, {NodeId{5}}, kStart, issuer_, {{.id = NodeId{5}, .least_epoch = 1}})
                .value()
                .nodes,
            After({}, {NodeId{5}}).nodes);
}

// It signed an empty list 1 of a later date, and then never took the cluster's list from its
// members.
TEST_F(RevocationsTest, AnAuthorityThatLostItsListTakesTheClustersList) {
  const RevocationList cluster = After(After({}, {}, kStart), {NodeId{5}}, kStart + kDay);
  ASSERT_EQ(cluster.number, 2U);
  ASSERT_TRUE(revocations_.Take(After({}, {}, kStart + 9 * kDay)).ok());
  ASSERT_TRUE(revocations_.Take(cluster).ok());
  EXPECT_EQ(RefusalOf(CertificateOf(NodeId{5})), reasons::kNodeRevoked);
  EXPECT_EQ(ReasonOf(revocations_.Take(After({}, {}, kStart + 9 * kDay))),
            reasons::kRevocationInvalid);
}

TEST_F(RevocationsTest, AListThatForgetsTooEarlyIsRefused) {
  ASSERT_TRUE(revocations_.Take(After({}, {NodeId{5}, NodeId{6}})).ok());
  const auto signed_again = [&](RevocationList list, auto change) {
    change(list);
    const std::string bytes = list.Encode();
    list.signature = issuer_.Sign(AsBytes(bytes).first(bytes.size() - sizeof(list.signature)));
    return list;
  };
  const RevocationList next = After(revocations_.list(), {}, kStart + kDay);
  const RevocationList shorter =
      signed_again(next, [](RevocationList& list) { --list.nodes[0].ends_ms; });
  EXPECT_EQ(ReasonOf(revocations_.Take(shorter)), reasons::kRevocationInvalid);
  const RevocationList wider =
      signed_again(next, [](RevocationList& list) { list.covers_from_ms = kStart - kDay; });
  EXPECT_EQ(ReasonOf(revocations_.Take(wider)), reasons::kRevocationInvalid);
  const RevocationList ahead =
      signed_again(next, [](RevocationList& list) { list.covers_from_ms = list.issued_ms + 1; });
  EXPECT_FALSE(RevocationList::Parse(AsBytes(ahead.Encode())).ok());
  EXPECT_TRUE(revocations_.Take(next).ok());
}

// Whatever lists a node saw, and in whatever order of revocations and refreshes they were signed:
// from the list that revokes a node on, no certificate that it had then is taken.
RC_GTEST_PROP(RevocationListProperty, ARevokedCertificateIsNeverTakenAgain, ()) {
  const ClusterAuthority issuer = ClusterAuthority::FromSeed(KeySeed{1});
  const NodeId node{5};
  int64_t now_ms = kStart;
  RevocationList list;
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    now_ms += *rc::gen::inRange<int64_t>(0, 20 * kDay);
    list = RevokeNodes(list, {NodeId{static_cast<uint8_t>(10 + i)}}, now_ms, issuer).value();
  }
  const AdmissionCert certificate = CertificateOf(
      node, now_ms + *rc::gen::inRange<int64_t>(-kDay, limits::kMaxCertificateMillis + kDay));
  list = RevokeNodes(list, {node}, now_ms, issuer).value();
  Revocations witness(issuer.public_key());  // sees all lists
  RC_ASSERT(witness.Take(list).ok());
  for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
    now_ms += *rc::gen::inRange<int64_t>(0, 20 * kDay);
    list = RevokeNodes(list, {}, now_ms, issuer).value();
    RC_ASSERT(RevocationList::Parse(AsBytes(list.Encode())).value() == list);
    RC_ASSERT(witness.Take(list).ok());
    RC_ASSERT(!witness.Require(certificate).ok());
    Revocations newcomer(issuer.public_key());  // sees this one only
    RC_ASSERT(newcomer.Take(list).ok());
    RC_ASSERT(!newcomer.Require(certificate).ok());
  }
}

TEST_F(RevocationsTest, OnlyTheIssuersListCounts) {
  const ClusterAuthority other = ClusterAuthority::FromSeed(KeySeed{2});
  EXPECT_EQ(ReasonOf(revocations_.Take(RevokeNodes({}, {NodeId{5}}, 1, other).value())),
            reasons::kCertificateForeign);
  RevocationList forged = RevokeNodes({}, {NodeId{5}}, 1, other).value();
  forged.issuer = issuer_.issuer();
  EXPECT_EQ(ReasonOf(revocations_.Take(forged)), reasons::kSignatureInvalid);
}

TEST_F(RevocationsTest, AnIslandStopsAtAnOldList) {
  ASSERT_TRUE(revocations_.Take(After({}, {NodeId{5}}, 1000)).ok());
  EXPECT_TRUE(revocations_.RequireFresh(2000, 1000).ok());
  EXPECT_EQ(ReasonOf(revocations_.RequireFresh(2001, 1000)), reasons::kRevocationStale);
  EXPECT_TRUE(revocations_.RequireFresh(2001, 0).ok());
}

// Found by a security review: a node from which an attacker kept the first list never knew that
// something was kept from it.
TEST_F(RevocationsTest, ANodeWithoutAListWasNeverStale) {
  EXPECT_EQ(ReasonOf(revocations_.RequireFresh(kStart, kDay)), reasons::kRevocationStale);
  EXPECT_TRUE(revocations_.RequireFresh(kStart, 0).ok());
  const RevocationList first = After({}, {});
  EXPECT_EQ(first.number, 1U);
  ASSERT_TRUE(revocations_.Take(first).ok());
  EXPECT_TRUE(revocations_.RequireFresh(kStart + kDay, kDay).ok());
  EXPECT_EQ(ReasonOf(revocations_.RequireFresh(kStart + kDay + 1, kDay)),
            reasons::kRevocationStale);
}

TEST_F(RevocationsTest, ListsReadAsTheyWereAndNothingElseDoes) {
  const RevocationList list = After({}, {NodeId{5}, NodeId{2}}, 1000);
  const std::string good = list.Encode();
  EXPECT_EQ(RevocationList::Parse(AsBytes(good)).value(), list);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const auto altered = RevocationList::Parse(AsBytes(bad));
    EXPECT_FALSE(altered.ok() && altered->Verify(issuer_.public_key()).ok()) << i;
    EXPECT_FALSE(RevocationList::Parse(AsBytes(good).first(i)).ok()) << i;
  }
}

// Found by a security review: a list that was too long for a frame was silently not sent. Now the
// authority cannot make one that is too long for its receivers.
TEST_F(RevocationsTest, AListThatIsTooLongIsRefusedWhereItIsMade) {
  std::vector<NodeId> many(limits::kMaxRevokedNodes);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = {static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8)};
  }
  const RevocationList full = After({}, many);
  EXPECT_EQ(full.Encode().size(), limits::kMaxRevocationListBytes);
  EXPECT_EQ(ReasonOf(RevokeNodes(full, {NodeId{0, 0, 1}}, kStart, issuer_).status()),
            reasons::kLimitExceeded);
  const int64_t later_ms =
      kStart + limits::kRevocationLifeMillis + limits::kCertificateClockSkewMillis;
  EXPECT_EQ(After(full, {NodeId{0, 0, 1}}, later_ms).nodes.size(), 1U) << "the others have ended";
}

TEST_F(RevocationsTest, AllRevokedNodesReadAsTheyWereAndNothingElseDoes) {
  const RevokedNodes nodes = {NodeId{1}, NodeId{2}, NodeId{2, 9}};
  const std::string good = EncodeRevokedNodes(nodes);
  EXPECT_EQ(DecodeRevokedNodes(AsBytes(good)).value(), nodes);
  EXPECT_TRUE(DecodeRevokedNodes(AsBytes(EncodeRevokedNodes({}))).value().empty());
  EXPECT_FALSE(DecodeRevokedNodes(AsBytes(good + "x")).ok());
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_EQ(ReasonOf(DecodeRevokedNodes(AsBytes(good).first(i)).status()),
              reasons::kRevocationInvalid)
        << i;
  }
  std::string swapped = good;
  std::swap(swapped[12], swapped[12 + 32]);
  EXPECT_FALSE(DecodeRevokedNodes(AsBytes(swapped)).ok()) << "out of order";
}

// The worked example of docs/wire-format.md, computed by an independent program.
TEST_F(RevocationsTest, HasTheBytesOfTheDocument) {
  NodeId one{};
  NodeId two{};
  one.fill(0x11);
  two.fill(0x22);
  NodeId three{};
  three.fill(0x33);
  RevocationList list{.issuer = {},
                      .number = 6,
                      .issued_ms = 0,
                      .nodes = {{.id = one, .ends_ms = 1'801'000'000'000}}};
  list = RevokeNodes(list, {two}, kStart, issuer_, {{.id = three, .least_epoch = 2}}).value();
  EXPECT_EQ(ToHex(AsBytes(list.Encode())),
            "525556444c4c4d2d5245564f4b452d763100525556444c4c4d2d495353554552"
            "2d763100cecc1507dc1ddd7295951c290888f095adb9044d1b73d696e6df065d"
            "683bd4fccecc1507dc1ddd7295951c290888f095adb9044d1b73d696e6df065d"
            "683bd4fc00000000000000000000000000000000ffffffffffffff7ffbcd6360"
            "e09add4c7e15347b0fd6d6b4507fcf453e7472e03b7f3925392367cd96e36cce"
            "87510fae1a10340d65e251d5390144475245397afda4715c11e8840d07000000"
            "0000000000505c18a3010000407b5a18a3010000030000001111111111111111"
            "111111111111111111111111111111111111111111111111001af753a3010000"
            "ffffffff22222222222222222222222222222222222222222222222222222222"
            "22222222007401b8a3010000ffffffff33333333333333333333333333333333"
            "33333333333333333333333333333333007401b8a30100000200000092f6004a"
            "2cfe2a1fe467d31f78fec981fbede8cf6a6d4f60fb1fdc62b7a6e657b01668f8"
            "4377c6859c1c6ab96cadb8fb0890e1026c19ae9d0f83b51c97a1b005");
}

}  // namespace
}  // namespace ruvd::privacy
