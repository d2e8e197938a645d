// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Issuers of a cluster that follow each other, and what is left of one that was ended.

#include "privacy/identity/issuer_cert.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/join_invitation.h"
#include "privacy/identity/node_key.h"
#include "privacy/identity/revocation_list.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr int64_t kDay = 86'400'000;
constexpr int64_t kStart = 1'800'000'000'000;

class IssuerTest : public ::testing::Test {
 protected:
  // The issuer with this number, whose key is its own, good for a hundred days.
  ClusterAuthority Issuer(uint32_t number, uint32_t least) const {
    SigningKey key = SigningKey::FromSeed(KeySeed{static_cast<uint8_t>(10 + number)});
    const auto statement = IssuerCert::Sign({.key = key.public_key(),
                                             .number = number,
                                             .least = least,
                                             .not_before_ms = kStart - kDay,
                                             .not_after_ms = kStart + 100 * kDay},
                                            root_);
    return ClusterAuthority::Create(statement.value(), std::move(key)).value();
  }
  static AdmissionCert Certificate(const ClusterAuthority& issuer, const NodeKey& key,
                                   int64_t not_before_ms = kStart) {
    return issuer
        .Issue({.node_key = key.public_key(),
                .name = "edge",
                .not_before_ms = not_before_ms,
                .not_after_ms = not_before_ms + 30 * kDay,
                .serial = 1})
        .value();
  }

  const SigningKey root_ = SigningKey::FromSeed(KeySeed{1});
  const NodeKey node_ = NodeKey::FromSeed(KeySeed{2});
};

// docs/wire-format.md has the same bytes, which an independent program computed.
TEST_F(IssuerTest, HasTheBytesOfTheDocument) {
  KeySeed root{};
  KeySeed issuer{};
  root.fill(3);
  issuer.fill(4);
  const auto statement = IssuerCert::Sign({.key = SigningKey::FromSeed(issuer).public_key(),
                                           .number = 5,
                                           .least = 4,
                                           .not_before_ms = 1'799'900'000'000,
                                           .not_after_ms = 1'831'436'000'000},
                                          SigningKey::FromSeed(root));
  EXPECT_EQ(ToHex(AsBytes(statement.value().Encode())),
            "525556444c4c4d2d4953535545522d763100ed4928c628d1c2c6eae903389059"
            "95612959273a5c63f93636c14614ac8737d1ca93ac1705187071d67b83c7ff0e"
            "fe8108e8ec4530575d7726879333dbdabe7c0500000004000000006f6612a301"
            "0000009b176aaa010000bccbd49b5a779cb451f485931b0f627d01bdaa364a25"
            "dced581a730141bd88f49ec89ea709eac72fb4ba39a64b69dde220ad12fda43e"
            "278c294ac7b9e17f3f00");
}

TEST_F(IssuerTest, ReadsAsItWasAndNothingElseCounts) {
  const IssuerCert statement = Issuer(1, 0).issuer();
  const std::string good = statement.Encode();
  ASSERT_EQ(good.size(), IssuerCert::kBytes);
  EXPECT_EQ(IssuerCert::Parse(AsBytes(good)).value(), statement);
  EXPECT_TRUE(statement.Verify(root_.public_key()).ok());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const auto altered = IssuerCert::Parse(AsBytes(bad));
    EXPECT_FALSE(altered.ok() && altered->Verify(root_.public_key()).ok()) << i;
    EXPECT_FALSE(IssuerCert::Parse(AsBytes(good).first(i)).ok()) << i;
  }
  EXPECT_EQ(ReasonOf(statement.Verify(SigningKey::FromSeed(KeySeed{7}).public_key())),
            reasons::kCertificateForeign);
}

TEST_F(IssuerTest, MoreThanTwoAtATimeCannotBeSigned) {
  const PublicKey key = root_.public_key();
  for (const auto& [number, least] : {std::pair{5U, 3U}, std::pair{5U, 6U}}) {
    EXPECT_EQ(ReasonOf(IssuerCert::Sign(
                           {.key = key, .number = number, .least = least, .not_after_ms = 1}, root_)
                           .status()),
              reasons::kCertificateInvalid);
  }
  EXPECT_EQ(ReasonOf(IssuerCert::Sign({.key = key}, root_).status()), reasons::kCertificateInvalid);
}

TEST_F(IssuerTest, ANodeTrustsTheRootAndThroughItTheIssuer) {
  const ClusterAuthority first = Issuer(0, 0);
  const AdmissionCert certificate = Certificate(first, node_);
  EXPECT_TRUE(certificate.Verify(root_.public_key(), kStart).ok());
  EXPECT_EQ(AdmissionCert::Parse(AsBytes(certificate.Encode())).value(), certificate);
  EXPECT_EQ(first.cluster_id(), ClusterIdOf(root_.public_key()));
  // An issuer cannot make another one: only the root's signature counts.
  SigningKey stray = SigningKey::FromSeed(KeySeed{9});
  IssuerCert own = first.issuer();
  own.key = stray.public_key();
  EXPECT_EQ(ReasonOf(ClusterAuthority::Create(own, std::move(stray)).status()),
            reasons::kSignatureInvalid);
  EXPECT_EQ(
      ReasonOf(ClusterAuthority::Create(first.issuer(), SigningKey::FromSeed(KeySeed{9})).status()),
      reasons::kKeyInvalid);
}

TEST_F(IssuerTest, NothingOutlivesItsIssuer) {
  const ClusterAuthority issuer = Issuer(0, 0);
  const int64_t end_ms = issuer.issuer().not_after_ms;
  EXPECT_EQ(Certificate(issuer, node_, end_ms - kDay).not_after_ms, end_ms);
  EXPECT_EQ(ReasonOf(issuer
                         .Issue({.node_key = node_.public_key(),
                                 .name = "edge",
                                 .not_before_ms = end_ms,
                                 .not_after_ms = end_ms + kDay})
                         .status()),
            reasons::kIssuerEnded);
  EXPECT_EQ(ReasonOf(RevokeNodes({}, {}, end_ms, issuer).status()), reasons::kIssuerEnded);
  const auto welcome = JoinWelcome::Sign(issuer, {}, {});
  EXPECT_TRUE(welcome.Verify(issuer.cluster_id(), {}, {}, end_ms - 1).ok());
  EXPECT_EQ(ReasonOf(welcome.Verify(issuer.cluster_id(), {}, {}, end_ms)), reasons::kIssuerEnded);
  // A certificate that claims to last longer does not decode.
  AdmissionCert longer = Certificate(issuer, node_, end_ms - kDay);
  longer.not_after_ms = end_ms + 1;
  EXPECT_EQ(ReasonOf(AdmissionCert::Parse(AsBytes(longer.Encode())).status()),
            reasons::kCertificateInvalid);
}

TEST_F(IssuerTest, TheNextOneTakesOverWithoutABreak) {
  const ClusterAuthority first = Issuer(0, 0);
  const ClusterAuthority second = Issuer(1, 0);
  const AdmissionCert old = Certificate(first, node_);
  Revocations known(root_.public_key());
  const RevocationList before = RevokeNodes({}, {NodeId{5}}, kStart, first).value();
  ASSERT_TRUE(known.Take(before).ok());
  const RevocationList after = RevokeNodes(before, {NodeId{6}}, kStart + 1, second).value();
  EXPECT_EQ(after.edition(), 1U);
  EXPECT_TRUE(after.Revokes(NodeId{5})) << "what was revoked stays so";
  ASSERT_TRUE(known.Take(after).ok());
  EXPECT_TRUE(known.Require(old).ok()) << "members renew when they are due";
  EXPECT_TRUE(Certificate(second, node_).Supersedes(old));
  // The former issuer signs no list any more, and a copy that does is not heard.
  EXPECT_EQ(ReasonOf(RevokeNodes(after, {}, kStart + 2, first).status()), reasons::kIssuerEnded);
  EXPECT_EQ(ReasonOf(known.Take(RevokeNodes(before, {NodeId{7}}, kStart + 2, first).value())),
            reasons::kRevocationInvalid);
}

// Found by a review: only the first issuer's authority could lose its list and go on.
TEST_F(IssuerTest, AnAuthorityThatLostItsListTakesItFromAMember) {
  const ClusterAuthority second = Issuer(1, 0);
  const RevocationList first = RevokeNodes({}, {NodeId{5}}, kStart, second).value();
  const RevocationList lost = RevokeNodes(first, {NodeId{6}}, kStart + 1, second).value();
  Revocations office(root_.public_key());
  ASSERT_TRUE(office.Take(RevokeNodes({}, {}, kStart + kDay, second).value()).ok());
  EXPECT_TRUE(office.Take(lost).ok()) << "of an earlier date, but what was signed before";
  EXPECT_EQ(ReasonOf(office.Take(first)), reasons::kRevocationInvalid);
}

// The root's word counts before a list of the next issuer has come.
TEST_F(IssuerTest, AStatementOfTheRootEndsAnIssuer) {
  Revocations known(root_.public_key());
  const ClusterAuthority stolen = Issuer(0, 0);
  ASSERT_TRUE(known.Take(RevokeNodes({}, {}, kStart, stolen).value()).ok());
  EXPECT_FALSE(known.Learn(stolen.issuer()));
  EXPECT_TRUE(known.Learn(Issuer(1, 1).issuer()));
  EXPECT_FALSE(known.Learn(Issuer(1, 1).issuer())) << "it is no news any more";
  EXPECT_EQ(ReasonOf(known.Require(Certificate(stolen, node_))), reasons::kIssuerEnded);
  const RevocationList later =
      RevokeNodes(known.list(), {node_.id()}, kStart + kDay, stolen).value();
  EXPECT_EQ(ReasonOf(known.Take(later)), reasons::kRevocationInvalid) << "the thief signs on";
}

// A thief of the issuer's key admits nodes, and revokes everybody with the highest possible number.
TEST_F(IssuerTest, WhatAThiefSignedIsVoidOnceTheRootEndsTheIssuer) {
  const ClusterAuthority stolen = Issuer(0, 0);
  const NodeKey thief = NodeKey::FromSeed(KeySeed{66});
  Revocations known(root_.public_key());
  RevocationList forged{
      .issuer = {}, .number = std::numeric_limits<uint32_t>::max() - 1U, .nodes = {}};
  forged = RevokeNodes(forged, {node_.id()}, kStart + kDay, stolen).value();
  ASSERT_TRUE(known.Take(forged).ok());
  const ClusterAuthority next = Issuer(1, 1);
  const AdmissionCert renewed = Certificate(next, node_);
  ASSERT_EQ(ReasonOf(known.Require(renewed)), reasons::kNodeRevoked);
  // The authority may have heard of the forged list, and its own is of an earlier date.
  const RevocationList list = RevokeNodes(forged, {NodeId{6}}, kStart, next).value();
  EXPECT_GT(list.number, forged.number);
  EXPECT_EQ(list.nodes.size(), 1U);
  ASSERT_TRUE(known.Take(list).ok());
  EXPECT_TRUE(known.Require(renewed).ok());
  EXPECT_EQ(ReasonOf(known.Require(Certificate(stolen, thief))), reasons::kIssuerEnded);
  EXPECT_EQ(ReasonOf(known.Require(Certificate(stolen, node_))), reasons::kIssuerEnded);
  // The thief can take nothing of that back.
  EXPECT_EQ(ReasonOf(known.Take(forged)), reasons::kRevocationInvalid);
  EXPECT_EQ(ReasonOf(RevokeNodes(forged, {}, kStart, stolen).status()), reasons::kIssuerEnded)
      << "its numbers are used up";
}

}  // namespace
}  // namespace ruvd::privacy
