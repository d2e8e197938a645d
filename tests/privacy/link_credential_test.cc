// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/link_credential.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/identity/join_token.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr int64_t kNow = 1'800'000'000'000;
constexpr int64_t kDay = 86'400'000;

class LinkCredentialTest : public ::testing::Test {
 protected:
  AdmissionCert Certificate(const NodeKey& key) const {
    return authority_
        .Issue({.node_key = key.public_key(),
                .name = "a",
                .not_before_ms = kNow,
                .not_after_ms = kNow + kDay,
                .serial = 1})
        .value();
  }
  std::string Verify(const MemberCredential& credential, const Digest& tls_key,
                     int64_t now_ms = kNow) const {
    return ReasonOf(credential.Verify(authority_.cluster_id(), tls_key, now_ms));
  }

  const ClusterAuthority authority_ = ClusterAuthority::FromSeed(KeySeed{1});
  const NodeKey key_ = NodeKey::FromSeed(KeySeed{2});
  const Digest tls_key_{3};
  const MemberCredential member_ = MemberCredential::Sign(Certificate(key_), tls_key_, key_);
};

TEST_F(LinkCredentialTest, AMemberBindsOneTlsKeyOnly) {
  EXPECT_TRUE(member_.Verify(authority_.cluster_id(), tls_key_, kNow).ok());
  EXPECT_EQ(Verify(member_, Digest{4}), reasons::kSignatureInvalid);
}

TEST_F(LinkCredentialTest, ACertificateWithoutItsKeyIsWorthNothing) {
  const NodeKey thief = NodeKey::FromSeed(KeySeed{5});
  EXPECT_EQ(Verify(MemberCredential::Sign(Certificate(key_), tls_key_, thief), tls_key_),
            reasons::kSignatureInvalid);
}

TEST_F(LinkCredentialTest, AMemberOfAnotherClusterOrTimeIsNamedAsSuch) {
  EXPECT_EQ(ReasonOf(member_.Verify(ClusterId{9}, tls_key_, kNow)), reasons::kCertificateForeign);
  EXPECT_EQ(Verify(member_, tls_key_, kNow + kDay), reasons::kCertificateExpired);
  // Its issuer is of the cluster, but did not sign it.
  MemberCredential forged = member_;
  forged.certificate.roles = roles::kAll;
  EXPECT_EQ(Verify(MemberCredential::Sign(forged.certificate, tls_key_, key_), tls_key_),
            reasons::kSignatureInvalid);
}

TEST_F(LinkCredentialTest, BothKindsHaveOneEncoding) {
  const LinkCredential applicant = ApplicantCredential::Of(Digest{6}, tls_key_);
  for (const LinkCredential& credential : {LinkCredential(member_), applicant}) {
    const std::string bytes = EncodeLinkCredential(credential);
    ASSERT_TRUE(ParseLinkCredential(AsBytes(bytes)).ok());
    EXPECT_EQ(*ParseLinkCredential(AsBytes(bytes)), credential);
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_EQ(ReasonOf(ParseLinkCredential(AsBytes(bytes).first(length)).status()),
                reasons::kCertificateInvalid);
    }
    EXPECT_FALSE(ParseLinkCredential(AsBytes(bytes + '\0')).ok());
    std::string other = bytes;
    other[0] ^= 1;
    EXPECT_FALSE(ParseLinkCredential(AsBytes(other)).ok());
  }
}

class ApplicantTest : public LinkCredentialTest {
 protected:
  JoinInvitation Invite() {
    return {.token = tokens_.Issue(roles::kMember, kNow, kDay).value(),
            .cluster = authority_.cluster_id()};
  }
  JoinTokens tokens_{authority_, {}, [](std::string_view) { return absl::OkStatus(); }};
};

TEST_F(ApplicantTest, KnowsATokenAndShowsItForOneTlsKeyOnly) {
  const JoinInvitation invitation = Invite();
  const ApplicantCredential shown = MakeApplicantCredential(invitation, tls_key_).value();
  EXPECT_TRUE(tokens_.Recognizes(shown, tls_key_, kNow));
  EXPECT_FALSE(tokens_.Recognizes(shown, Digest{7}, kNow)) << "somebody else repeats it";
  EXPECT_FALSE(tokens_.Recognizes({.token_name = shown.token_name}, tls_key_, kNow));
  const std::string bytes = EncodeLinkCredential(shown);
  const std::string secret = FromHex(invitation.token.substr(10)).value();
  EXPECT_EQ(bytes.find(secret), std::string::npos);
  for (const auto& [hash, grant] : tokens_.grants()) {
    EXPECT_EQ(bytes.find(AsText(hash)), std::string::npos) << "the hash would open the gate again";
  }
}

TEST_F(ApplicantTest, KnowsNoTokenOfThisCluster) {
  JoinInvitation invitation = Invite();
  invitation.cluster = ClusterId{8};
  EXPECT_FALSE(
      tokens_.Recognizes(MakeApplicantCredential(invitation, tls_key_).value(), tls_key_, kNow));
  invitation.token[12] = '?';
  EXPECT_EQ(ReasonOf(MakeApplicantCredential(invitation, tls_key_).status()),
            reasons::kTokenInvalid);
}

TEST_F(ApplicantTest, IsKnownAfterARestartAndUntilTheTokenIsDropped) {
  const JoinInvitation invitation = Invite();
  const ApplicantCredential shown = MakeApplicantCredential(invitation, tls_key_).value();
  const JoinTokens restarted(authority_, tokens_.grants(),
                             [](std::string_view) { return absl::OkStatus(); });
  EXPECT_TRUE(restarted.Recognizes(shown, tls_key_, kNow));
  // A used token is recognized, so that its holder is told that it is used.
  ASSERT_TRUE(tokens_
                  .Redeem(JoinRequest::Sign(invitation.token, "b", invitation.cluster, key_), kNow,
                          /*serial=*/1)
                  .ok());
  EXPECT_TRUE(tokens_.Recognizes(shown, tls_key_, kNow));
  EXPECT_TRUE(tokens_.Recognizes(shown, tls_key_, kNow + kDay)) << "and that it has expired";
  EXPECT_FALSE(tokens_.Recognizes(shown, tls_key_, kNow + kDay + limits::kTokenGraceMillis));
  ASSERT_TRUE(tokens_.Issue(roles::kMember, kNow + 2 * kDay, kDay).ok());
  EXPECT_FALSE(tokens_.Recognizes(shown, tls_key_, kNow))
      << "it had expired when another one was made";
}

}  // namespace
}  // namespace ruvd::privacy
