// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/certificate_renewal.h"

#include <gtest/gtest.h>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr int64_t kRenewedAt = 1'800'000'000'000;
constexpr int64_t kRenewalHour = 3'600'000;
constexpr JoinWelcome::Nonce kRenewalNonce{7};

class CertificateRenewalTest : public testing::Test {
 protected:
  AdmissionCert Issue(const ClusterAuthority& authority, int64_t from, int64_t until) const {
    return authority
        .Issue({.node_key = key_.public_key(),
                .name = "edge-1",
                .roles = roles::kObserver,
                .not_before_ms = from,
                .not_after_ms = until,
                .serial = 1})
        .value();
  }
  absl::StatusOr<AdmissionCert> Renew(const CertificateRenewal& renewal,
                                      const JoinWelcome::Nonce& nonce = kRenewalNonce,
                                      const RevokedNodes& revoked = {}) const {
    return RenewCertificate(authority_, revoked, renewal, nonce, kRenewedAt, 2);
  }

  const ClusterAuthority authority_ = ClusterAuthority::FromSeed(KeySeed{1});
  const NodeKey key_ = NodeKey::FromSeed(KeySeed{2});
  const AdmissionCert present_ =
      Issue(authority_, kRenewedAt - 20 * kRenewalHour, kRenewedAt + kRenewalHour);
  const CertificateRenewal renewal_ = CertificateRenewal::Sign(present_, kRenewalNonce, key_);
};

TEST_F(CertificateRenewalTest, GivesTheSameMemberMoreTimeAndNothingElse) {
  const auto renewed = Renew(renewal_);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_TRUE(renewed->Verify(authority_.public_key(), kRenewedAt).ok());
  EXPECT_EQ(renewed->node_key, present_.node_key);
  EXPECT_EQ(renewed->name, present_.name);
  EXPECT_EQ(renewed->roles, present_.roles);
  EXPECT_EQ(renewed->not_before_ms, kRenewedAt);
  EXPECT_EQ(renewed->not_after_ms, kRenewedAt + limits::kMaxCertificateMillis);
}

TEST_F(CertificateRenewalTest, IsForWhoHoldsTheKeyAndAsksNow) {
  EXPECT_EQ(ReasonOf(Renew(renewal_, JoinWelcome::Nonce{8}).status()), reasons::kSignatureInvalid);
  const NodeKey other = NodeKey::FromSeed(KeySeed{3});
  EXPECT_EQ(ReasonOf(Renew(CertificateRenewal::Sign(present_, kRenewalNonce, other)).status()),
            reasons::kSignatureInvalid);
  CertificateRenewal swapped = renewal_;
  swapped.certificate = Issue(authority_, kRenewedAt - 1, kRenewedAt + 1);
  EXPECT_EQ(ReasonOf(Renew(swapped).status()), reasons::kSignatureInvalid);
}

TEST_F(CertificateRenewalTest, IsForMembersOfThisClusterWhoseTimeIsNotOver) {
  const auto signed_one = [&](const AdmissionCert& certificate) {
    return CertificateRenewal::Sign(certificate, kRenewalNonce, key_);
  };
  EXPECT_EQ(ReasonOf(Renew(signed_one(Issue(authority_, kRenewedAt - 10, kRenewedAt))).status()),
            reasons::kCertificateExpired);
  const ClusterAuthority foreign = ClusterAuthority::FromSeed(KeySeed{9});
  EXPECT_EQ(ReasonOf(Renew(signed_one(Issue(foreign, kRenewedAt - 10, kRenewedAt + 10))).status()),
            reasons::kCertificateForeign);
  EXPECT_EQ(ReasonOf(Renew(renewal_, kRenewalNonce, {key_.id()}).status()), reasons::kNodeRevoked);
}

TEST_F(CertificateRenewalTest, CertifiesTheNextKeyUnderTheSameId) {
  const SigningKey next = SigningKey::FromSeed(KeySeed{4});
  const auto ask = [&](const KeyRotation& rotation) {
    return Renew(CertificateRenewal::Sign(present_, kRenewalNonce, key_, rotation));
  };
  const auto renewed = ask(key_.RotateTo(next, kRenewedAt));
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_TRUE(renewed->Verify(authority_.public_key(), kRenewedAt).ok());
  EXPECT_EQ(renewed->node_id, key_.id());
  EXPECT_EQ(renewed->node_key, next.public_key());
  EXPECT_EQ(renewed->key_epoch, 1U);
  EXPECT_TRUE(renewed->Supersedes(present_));
  EXPECT_EQ(AdmissionCert::Parse(AsBytes(renewed->Encode())).value(), *renewed);

  EXPECT_EQ(
      ReasonOf(
          ask(KeyRotation::Sign(key_.id(), 2, 1, SigningKey::FromSeed(KeySeed{2}), next)).status()),
      reasons::kKeyInvalid)
      << "an epoch is left out";
  const NodeKey other = NodeKey::FromSeed(KeySeed{5});
  EXPECT_EQ(ReasonOf(ask(other.RotateTo(next, kRenewedAt)).status()), reasons::kKeyInvalid)
      << "of another node";
  KeyRotation forged = key_.RotateTo(next, kRenewedAt);
  forged.next_signature = forged.former_signature;
  EXPECT_EQ(ReasonOf(ask(forged).status()), reasons::kSignatureInvalid);
  // What the request asks for is signed, so that no machine on the way can add or remove it.
  CertificateRenewal altered =
      CertificateRenewal::Sign(present_, kRenewalNonce, key_, key_.RotateTo(next, kRenewedAt));
  altered.ends_former = true;
  EXPECT_EQ(ReasonOf(Renew(altered).status()), reasons::kSignatureInvalid);
}

TEST_F(CertificateRenewalTest, IsDueInTheLastThird) {
  const AdmissionCert certificate = Issue(authority_, kRenewedAt, kRenewedAt + 30 * kRenewalHour);
  EXPECT_FALSE(RenewalDue(certificate, kRenewedAt));
  EXPECT_FALSE(RenewalDue(certificate, kRenewedAt + 20 * kRenewalHour));
  EXPECT_TRUE(RenewalDue(certificate, kRenewedAt + 20 * kRenewalHour + 1));
  EXPECT_TRUE(RenewalDue(certificate, kRenewedAt + 31 * kRenewalHour));
}

}  // namespace
}  // namespace ruvd::privacy
