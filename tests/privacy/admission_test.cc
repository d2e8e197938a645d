// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/admission.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/identity/node_key.h"
#include "privacy/limits.h"

namespace ruvd::privacy {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;
constexpr int64_t kDay = 24LL * 3600 * 1000;

ClusterAuthority::Request RequestFor(const NodeKey& key) {
  return {.node_key = key.public_key(),
          .name = "node-a",
          .roles = roles::kMember,
          .not_before_ms = kNow - kDay,
          .not_after_ms = kNow + kDay,
          .serial = 42};
}

class Admission : public testing::Test {
 protected:
  const ClusterAuthority authority_ = ClusterAuthority::FromSeed(KeySeed{1});
  const NodeKey key_ = NodeKey::FromSeed(KeySeed{2});
  const AdmissionCert cert_ = *authority_.Issue(RequestFor(key_));
};

TEST_F(Admission, IssuedCertificateVerifiesAndSurvivesEncoding) {
  EXPECT_TRUE(cert_.Verify(authority_.public_key(), kNow).ok());
  const std::string bytes = cert_.Encode();
  ASSERT_EQ(bytes.size(), AdmissionCert::kBytes);
  const auto parsed = AdmissionCert::Parse(AsBytes(bytes));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, cert_);
  EXPECT_EQ(parsed->node_id, key_.id());
  EXPECT_TRUE(parsed->Verify(authority_.public_key(), kNow).ok());
}

TEST_F(Admission, ForeignIssuerIsNamed) {
  const ClusterAuthority other = ClusterAuthority::FromSeed(KeySeed{3});
  EXPECT_EQ(ReasonOf(cert_.Verify(other.public_key(), kNow)), reasons::kCertificateForeign);
  AdmissionCert claimed = *other.Issue(RequestFor(key_));
  claimed.issuer = authority_.issuer();  // claims our authority, signed by another
  EXPECT_EQ(ReasonOf(claimed.Verify(authority_.public_key(), kNow)), reasons::kSignatureInvalid);
  EXPECT_NE(other.cluster_id(), authority_.cluster_id());
}

TEST_F(Admission, TimeBounds) {
  const PublicKey issuer = authority_.public_key();
  EXPECT_TRUE(cert_.Verify(issuer, cert_.not_after_ms - 1).ok());
  EXPECT_EQ(ReasonOf(cert_.Verify(issuer, cert_.not_after_ms)), reasons::kCertificateExpired);
  EXPECT_TRUE(cert_.Verify(issuer, cert_.not_before_ms - limits::kCertificateClockSkewMillis).ok());
  EXPECT_EQ(
      ReasonOf(cert_.Verify(issuer, cert_.not_before_ms - limits::kCertificateClockSkewMillis - 1)),
      reasons::kCertificateExpired);
}

TEST_F(Admission, IssueRefusesWhatCannotBeGood) {
  const auto reason_of = [&](auto change) {
    ClusterAuthority::Request request = RequestFor(key_);
    change(request);
    return ReasonOf(authority_.Issue(request).status());
  };
  EXPECT_EQ(reason_of([](auto& r) { r.name = ""; }), reasons::kCertificateInvalid);
  EXPECT_EQ(reason_of([](auto& r) { r.name = std::string(33, 'a'); }),
            reasons::kCertificateInvalid);
  EXPECT_EQ(reason_of([](auto& r) { r.name = "a b"; }), reasons::kCertificateInvalid);
  EXPECT_EQ(reason_of([](auto& r) { r.roles = 0; }), reasons::kCertificateInvalid);
  EXPECT_EQ(reason_of([](auto& r) { r.roles = 16; }), reasons::kCertificateInvalid);
  EXPECT_EQ(reason_of([](auto& r) { r.not_after_ms = r.not_before_ms; }),
            reasons::kCertificateInvalid);
  EXPECT_EQ(reason_of([](auto& r) { r.not_after_ms = r.not_before_ms + 30 * kDay + 1; }),
            reasons::kCertificateInvalid);
  EXPECT_EQ(reason_of([](auto& r) { r.node_key = PublicKey{1}; }), reasons::kKeyInvalid);
}

TEST_F(Admission, AnIdOfItsOwnNeedsALaterKey) {
  const auto issue = [this](const NodeId& id, uint32_t epoch) {
    return ReasonOf(authority_
                        .Issue({.node_key = key_.public_key(),
                                .node_id = id,
                                .key_epoch = epoch,
                                .name = "node-a",
                                .not_before_ms = kNow,
                                .not_after_ms = kNow + kDay,
                                .serial = 1})
                        .status());
  };
  EXPECT_EQ(issue(key_.id(), 0), "");
  EXPECT_EQ(issue(NodeId{9}, 1), "");
  EXPECT_EQ(issue(NodeId{9}, limits::kMaxKeyRotations), "");
  EXPECT_EQ(issue(NodeId{9}, 0), reasons::kCertificateInvalid);
  EXPECT_EQ(issue(key_.id(), 1), reasons::kCertificateInvalid);
  EXPECT_EQ(issue(NodeId{9}, limits::kMaxKeyRotations + 1), reasons::kCertificateInvalid);
}

TEST_F(Admission, SmallOrderNodeKeyIsRefusedEvenWhenSigned) {
  AdmissionCert cert = cert_;
  cert.node_key = PublicKey{1};
  cert.node_id = NodeIdOf(cert.node_key);
  EXPECT_EQ(ReasonOf(cert.Verify(authority_.public_key(), kNow)), reasons::kKeyInvalid);
}

TEST_F(Admission, EveryFlippedBitIsRefused) {
  const std::string good = cert_.Encode();
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    const auto parsed = AdmissionCert::Parse(AsBytes(bad));
    EXPECT_FALSE(parsed.ok() && parsed->Verify(authority_.public_key(), kNow).ok())
        << "bit " << bit;
  }
}

TEST_F(Admission, WrongLengthsAreRefused) {
  const std::string good = cert_.Encode();
  for (size_t length : {size_t{0}, size_t{1}, good.size() - 1}) {
    EXPECT_EQ(ReasonOf(AdmissionCert::Parse(AsBytes(good.substr(0, length))).status()),
              reasons::kCertificateInvalid);
  }
  EXPECT_EQ(ReasonOf(AdmissionCert::Parse(AsBytes(good + "x")).status()),
            reasons::kCertificateInvalid);
}

RC_GTEST_PROP(AdmissionProperty, EncodingRoundTrips, (uint64_t serial, uint8_t role_bits)) {
  const ClusterAuthority authority = ClusterAuthority::FromSeed(KeySeed{1});
  const NodeKey key = NodeKey::FromSeed(KeySeed{9});
  ClusterAuthority::Request request = RequestFor(key);
  request.serial = serial;
  request.roles = 1 + role_bits % roles::kAll;
  const int length = *rc::gen::inRange(1, 33);
  request.name = *rc::gen::container<std::string>(static_cast<size_t>(length),
                                                  rc::gen::inRange<char>('!', '~'));
  const auto cert = authority.Issue(request);
  RC_ASSERT(cert.ok());
  const auto parsed = AdmissionCert::Parse(AsBytes(cert->Encode()));
  RC_ASSERT(parsed.ok());
  RC_ASSERT(*parsed == *cert);
}

}  // namespace
}  // namespace ruvd::privacy
