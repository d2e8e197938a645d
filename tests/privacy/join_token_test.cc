// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests joining a cluster: one token admits one node.

#include "privacy/identity/join_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/rotated_key.h"

namespace ruvd::privacy {
namespace {

class JoinTokenTest : public testing::Test {
 protected:
  JoinTokens Tokens(JoinGrants grants = {}) {
    return {authority_, std::move(grants), [this](std::string_view bytes) {
              kept_ = bytes;
              return keep_status_;
            }};
  }
  JoinRequest Request(const std::string& token, const NodeKey& key) const {
    return JoinRequest::Sign(token, "alpha", authority_.cluster_id(), key);
  }
  const ClusterAuthority authority_ = ClusterAuthority::FromSeed(KeySeed{1});
  const NodeKey node_ = NodeKey::FromSeed(KeySeed{2});
  std::string kept_;
  absl::Status keep_status_;
};

TEST_F(JoinTokenTest, AdmitsOneNodeWithTheRolesItWasMadeFor) {
  JoinTokens tokens = Tokens();
  const std::string token = tokens.Issue(roles::kObserver, 1000, 60'000).value();
  const AdmissionCert cert = tokens.Redeem(Request(token, node_), 2000, 7).value();
  EXPECT_TRUE(cert.Verify(authority_.public_key(), 2000).ok());
  EXPECT_EQ(cert.node_id, node_.id());
  EXPECT_EQ(cert.roles, roles::kObserver);
  EXPECT_EQ(cert.name, "alpha");
  EXPECT_EQ(cert.serial, 7U);
  EXPECT_EQ(ReasonOf(tokens.Redeem(Request(token, node_), 2000, 8).status()), reasons::kTokenUsed);
}

TEST_F(JoinTokenTest, ANodeThatReplacedItsKeyJoinsAgainUnderItsId) {
  JoinTokens tokens = Tokens();
  const std::string token = tokens.Issue(roles::kObserver, 1000, 60'000).value();
  const NodeKey rotated = test::RotatedKey(KeySeed{2}, KeySeed{3});
  EXPECT_EQ(ReasonOf(tokens.Redeem(Request(token, rotated), 2000, 7, {node_.id()}).status()),
            reasons::kNodeRevoked);
  JoinRequest forged = Request(token, rotated);
  forged.rotations.back() = static_cast<char>(forged.rotations.back() ^ 1);
  EXPECT_EQ(ReasonOf(tokens.Redeem(forged, 2000, 7).status()), reasons::kSignatureInvalid);
  const AdmissionCert cert = tokens.Redeem(Request(token, rotated), 2000, 7).value();
  EXPECT_TRUE(cert.Verify(authority_.public_key(), 2000).ok());
  EXPECT_EQ(cert.node_id, node_.id());
  EXPECT_EQ(cert.key_epoch, 1U);
  EXPECT_EQ(cert.node_key, rotated.public_key());
}

TEST_F(JoinTokenTest, OnlyTheHashIsKept) {
  JoinTokens tokens = Tokens();
  const std::string token = tokens.Issue(roles::kMember, 1000, 60'000).value();
  const std::string secret = FromHex(token.substr(token.size() - 64)).value();
  EXPECT_EQ(kept_.find(secret), std::string::npos);
  EXPECT_EQ(kept_.find(token), std::string::npos);
  // Stored tokens continue after a restart, used or not.
  JoinTokens again = Tokens(DecodeGrants(AsBytes(kept_)).value());
  EXPECT_TRUE(again.Redeem(Request(token, node_), 2000, 7).ok());
  JoinTokens after = Tokens(DecodeGrants(AsBytes(kept_)).value());
  EXPECT_EQ(ReasonOf(after.Redeem(Request(token, node_), 2000, 7).status()), reasons::kTokenUsed);
}

TEST_F(JoinTokenTest, UsedTwiceAtTheSameTimeAdmitsOne) {
  for (int round = 0; round < 250; ++round) {
    JoinTokens tokens = Tokens();
    const std::string token = tokens.Issue(roles::kMember, 1000, 60'000).value();
    std::atomic<int> admitted = 0;
    std::atomic<bool> go = false;
    std::vector<std::thread> threads;
    for (uint8_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const JoinRequest request = Request(token, NodeKey::FromSeed(KeySeed{i}));
        while (!go) {
        }
        admitted += tokens.Redeem(request, 2000, i).ok() ? 1 : 0;
      });
    }
    go = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
    ASSERT_EQ(admitted, 1);
  }
}

TEST_F(JoinTokenTest, AnAdmissionThatCouldNotBeKeptUsesTheTokenUp) {
  JoinTokens tokens = Tokens();
  const std::string token = tokens.Issue(roles::kMember, 1000, 60'000).value();
  keep_status_ = absl::InternalError("no disk");
  EXPECT_FALSE(tokens.Redeem(Request(token, node_), 2000, 7).ok());
  EXPECT_FALSE(tokens.Issue(roles::kMember, 1000, 60'000).ok());
  keep_status_ = absl::OkStatus();
  EXPECT_EQ(ReasonOf(tokens.Redeem(Request(token, node_), 2000, 7).status()), reasons::kTokenUsed);
}

TEST_F(JoinTokenTest, WhatIsRefusedDoesNotUseATokenUp) {
  JoinTokens tokens = Tokens();
  const std::string token = tokens.Issue(roles::kMember, 1000, 60'000).value();
  const auto reason = [&](const JoinRequest& request, int64_t now_ms = 2000) {
    return ReasonOf(tokens.Redeem(request, now_ms, 1).status());
  };
  for (const std::string& none :
       {std::string(), std::string("ruvd-join-"), token + "00", "x" + token,
        token.substr(0, token.size() - 1) + "g", "ruvd-join-" + std::string(64, '0')}) {
    EXPECT_EQ(reason(Request(none, node_)), reasons::kTokenInvalid) << none;
  }
  EXPECT_EQ(reason(Request(token, node_), 61'000), reasons::kTokenExpired);
  EXPECT_EQ(reason(Request(token, node_), 999), reasons::kTokenExpired);
  JoinRequest other = Request(token, node_);
  other.node_key = NodeKey::FromSeed(KeySeed{3}).public_key();  // a key that it does not hold
  EXPECT_EQ(reason(other), reasons::kSignatureInvalid);
  other = Request(token, node_);
  other.name = "beta";
  EXPECT_EQ(reason(other), reasons::kSignatureInvalid);
  other.node_key = PublicKey{1};
  EXPECT_EQ(reason(other), reasons::kKeyInvalid);
  EXPECT_EQ(reason(JoinRequest::Sign(token, "a b", authority_.cluster_id(), node_)),
            reasons::kCertificateInvalid);
  EXPECT_EQ(reason(Request(token, node_)), "");
}

TEST_F(JoinTokenTest, TokensAreOfOneCluster) {
  JoinTokens tokens = Tokens();
  const std::string token = tokens.Issue(roles::kMember, 1000, 60'000).value();
  const ClusterAuthority other = ClusterAuthority::FromSeed(KeySeed{9});
  JoinTokens others(other, tokens.grants(), [](std::string_view) { return absl::OkStatus(); });
  EXPECT_EQ(
      ReasonOf(others.Redeem(JoinRequest::Sign(token, "alpha", other.cluster_id(), node_), 2000, 1)
                   .status()),
      reasons::kTokenInvalid);
}

TEST_F(JoinTokenTest, TokensHaveRolesAndAnEnd) {
  JoinTokens tokens = Tokens();
  for (const uint32_t roles : {0U, 16U}) {
    EXPECT_EQ(ReasonOf(tokens.Issue(roles, 1000, 1000).status()), reasons::kInvalidArgument);
  }
  for (const int64_t lifetime : {int64_t{0}, int64_t{-5}, limits::kMaxTokenMillis + 1}) {
    EXPECT_EQ(ReasonOf(tokens.Issue(roles::kMember, 1000, lifetime).status()),
              reasons::kInvalidArgument);
  }
  ASSERT_TRUE(tokens.Issue(roles::kMember, 1000, 1000).ok());
  ASSERT_TRUE(tokens.Issue(roles::kMember, 2000, 1000).ok());
  EXPECT_EQ(tokens.grants().size(), 1U);  // the first has expired
}

TEST_F(JoinTokenTest, GrantsReadAsTheyWere) {
  const JoinGrants grants = {
      {Digest{1}, {.roles = 1, .issued_ms = 5, .expires_ms = 9}},
      {Digest{2}, {.roles = 3, .issued_ms = 5, .expires_ms = 9, .used = true}}};
  const std::string good = EncodeGrants(grants);
  EXPECT_EQ(DecodeGrants(AsBytes(good)).value(), grants);
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(DecodeGrants(AsBytes(good).first(i)).ok()) << i;
  }
  EXPECT_FALSE(DecodeGrants(AsBytes(good + '\0')).ok());
}

}  // namespace
}  // namespace ruvd::privacy
