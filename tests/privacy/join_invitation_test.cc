// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/join_invitation.h"

#include <gtest/gtest.h>

#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

const std::string kToken = "ruvd-join-" + std::string(64, 'a');

TEST(JoinInvitationTest, ComesBackFromItsText) {
  JoinInvitation invitation{.token = kToken, .cluster = {}, .issuer = 0x12345678};
  invitation.cluster.fill(0x5c);
  const std::string text = invitation.Encode();
  EXPECT_EQ(text.size(), 147u);
  EXPECT_TRUE(text.ends_with("5c12345678"));
  EXPECT_EQ(JoinInvitation::Parse(text).value(), invitation);
}

TEST(JoinInvitationTest, WhatWasNotCopiedWholeIsRefused) {
  const std::string text = JoinInvitation{.token = kToken, .cluster = {}}.Encode();
  for (const std::string& none :
       {std::string(), kToken, kToken + "-", text.substr(1), text + "0",
        text.substr(0, text.size() - 1), text.substr(0, text.size() - 1) + "g",
        kToken + "_" + std::string(72, '0')}) {
    EXPECT_EQ(ReasonOf(JoinInvitation::Parse(none).status()), reasons::kTokenInvalid) << none;
  }
}

class JoinWelcomeTest : public ::testing::Test {
 protected:
  JoinWelcomeTest() {
    certificate_.fill(2);
    nonce_.fill(3);
  }
  std::string Verified(const JoinWelcome& welcome) const {
    return ReasonOf(welcome.Verify(cluster_, nonce_, certificate_, /*now_ms=*/1));
  }

  const ClusterAuthority authority_ = ClusterAuthority::FromSeed(KeySeed{1});
  const ClusterId cluster_ = ClusterIdOf(authority_.public_key());
  Digest certificate_{};
  JoinWelcome::Nonce nonce_{};
};

TEST_F(JoinWelcomeTest, TheAuthorityOfTheTokensClusterIsBelieved) {
  EXPECT_EQ(Verified(JoinWelcome::Sign(authority_, nonce_, certificate_)), "");
}

TEST_F(JoinWelcomeTest, AnotherChannelOrAnOldWelcomeIsNot) {
  Digest other = certificate_;
  other[31] ^= 1;
  EXPECT_EQ(Verified(JoinWelcome::Sign(authority_, nonce_, other)), reasons::kSignatureInvalid);
  JoinWelcome::Nonce old = nonce_;
  old[0] ^= 1;
  EXPECT_EQ(Verified(JoinWelcome::Sign(authority_, old, certificate_)), reasons::kSignatureInvalid);
}

TEST_F(JoinWelcomeTest, AnotherAuthorityIsNot) {
  const ClusterAuthority other = ClusterAuthority::FromSeed(KeySeed{9});
  JoinWelcome welcome = JoinWelcome::Sign(other, nonce_, certificate_);
  EXPECT_EQ(Verified(welcome), reasons::kCertificateForeign);
  welcome.issuer = authority_.issuer();
  EXPECT_EQ(Verified(welcome), reasons::kSignatureInvalid);
}

// docs/wire-format.md has the same layout.
TEST_F(JoinWelcomeTest, TheSignedBytesAreThoseOfTheDocument) {
  std::string bytes("RUVDLLM-WELCOME-v1\0", 19);
  bytes.append(AsText(cluster_)).append(AsText(nonce_)).append(AsText(certificate_));
  JoinWelcome welcome{.issuer = authority_.issuer(), .proof = authority_.Sign(AsBytes(bytes))};
  EXPECT_EQ(Verified(welcome), "");
}

}  // namespace
}  // namespace ruvd::privacy
