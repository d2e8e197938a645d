// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests what users agreed to: records, their register, the site's policy.

#include "privacy/consent/user_consent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/consent/site_policy.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/rotated_key.h"

namespace ruvd::privacy {
namespace {

using RecordKind = ConsentSubject::Kind;

UserConsent Record(const std::string& id, uint8_t purposes, RecordKind kind = RecordKind::kUser) {
  return {.subject = {.kind = kind, .id = id},
          .purposes = purposes,
          .widest = ConsentTier::kDp,
          .granted_ms = 1000,
          .expires_ms = 5000};
}

class UserConsentTest : public testing::Test {
 protected:
  const NodeKey key_ = NodeKey::FromSeed(KeySeed{1});
  ConsentRegister register_;
};

TEST_F(UserConsentTest, RecordsAreSignedAndReadAsTheyWere) {
  const UserConsent record = UserConsent::Sign(Record("ann", 3), key_).value();
  EXPECT_EQ(UserConsent::Parse(AsBytes(record.Encode())).value(), record);
  EXPECT_TRUE(record.Verify(key_).ok());
  EXPECT_EQ(ReasonOf(record.Verify(NodeKey::FromSeed(KeySeed{2}))), reasons::kSignatureInvalid);
  const std::string good = record.Encode();
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const auto altered = UserConsent::Parse(AsBytes(bad));
    EXPECT_FALSE(altered.ok() && altered->Verify(key_).ok()) << i;
    EXPECT_FALSE(UserConsent::Parse(AsBytes(good).first(i)).ok()) << i;
  }
}

TEST_F(UserConsentTest, ConsentsStayWhenTheKeyOfTheNodeIsReplaced) {
  const UserConsent record = UserConsent::Sign(Record("ann", 3), key_).value();
  EXPECT_TRUE(record.Verify(test::RotatedKey(KeySeed{1}, KeySeed{2})).ok());
  EXPECT_EQ(ReasonOf(record.Verify(test::RotatedKey(KeySeed{3}, KeySeed{2}))),
            reasons::kSignatureInvalid);
}

// The worked example of docs/wire-format.md, computed by an independent program.
TEST_F(UserConsentTest, HasTheBytesOfTheDocument) {
  EXPECT_EQ(ToHex(AsBytes(UserConsent::Sign(Record("ann", 3), key_).value().Encode())),
            "525556444c4c4d2d555345522d434f4e53454e542d7631000103616e6e0303e80300000000000088130000"
            "00000000c96eee1e3f8de202a4c54b064e080231c334b48c0bb35797da7fdeabf58188e0380653627b0b7d"
            "946e48705c180d3817d2403993ed99bce4e2973acc8d45c70d");
}

TEST_F(UserConsentTest, RecordsThatAreNoneAreRefused) {
  const auto reason = [this](const std::function<void(UserConsent*)>& change) {
    UserConsent record = Record("ann", 3);
    change(&record);
    EXPECT_EQ(ReasonOf(register_.Put(record)), ReasonOf(UserConsent::Sign(record, key_).status()));
    return ReasonOf(UserConsent::Sign(record, key_).status());
  };
  EXPECT_EQ(reason([](UserConsent* r) { r->subject.id = ""; }), reasons::kConsentInvalid);
  EXPECT_EQ(reason([](UserConsent* r) { r->subject.id = std::string(129, 'x'); }),
            reasons::kConsentInvalid);
  EXPECT_EQ(reason([](UserConsent* r) { r->subject.kind = static_cast<RecordKind>(3); }),
            reasons::kConsentInvalid);
  EXPECT_EQ(reason([](UserConsent* r) { r->purposes = 4; }), reasons::kConsentInvalid);
  EXPECT_EQ(reason([](UserConsent* r) { r->widest = static_cast<ConsentTier>(5); }),
            reasons::kConsentInvalid);
  EXPECT_EQ(reason([](UserConsent* r) { r->expires_ms = r->granted_ms; }),
            reasons::kConsentInvalid);
  EXPECT_EQ(reason([](UserConsent* r) { r->expires_ms = 1001 + limits::kMaxConsentMillis; }),
            reasons::kConsentInvalid);
}

TEST_F(UserConsentTest, PurposeTierAndTimeDecide) {
  ASSERT_TRUE(register_.Put(Record("ann", consent_purposes::kAll)).ok());
  ASSERT_TRUE(register_.Put(Record("bob", consent_purposes::kTraining)).ok());
  const auto reason = [this](const char* user, uint8_t purpose, ConsentTier tier, int64_t now) {
    return ReasonOf(register_.Require({.user = user, .session = ""}, purpose, tier, now));
  };
  constexpr uint8_t kTrain = consent_purposes::kTraining;
  constexpr uint8_t kShare = consent_purposes::kSharing;
  EXPECT_EQ(reason("ann", kShare, ConsentTier::kDp, 2000), "");
  EXPECT_EQ(reason("ann", kShare, ConsentTier::kMasked, 2000), "");
  EXPECT_EQ(reason("ann", kShare, ConsentTier::kPublic, 2000), reasons::kConsentMissing);
  EXPECT_EQ(reason("bob", kTrain, ConsentTier::kPublic, 2000), "");
  EXPECT_EQ(reason("bob", kShare, ConsentTier::kDp, 2000), reasons::kConsentMissing);
  EXPECT_EQ(reason("bob", consent_purposes::kAll, ConsentTier::kDp, 2000),
            reasons::kConsentMissing);
  EXPECT_EQ(reason("cat", kTrain, ConsentTier::kDp, 2000), reasons::kConsentMissing);
  EXPECT_EQ(reason("ann", 0, ConsentTier::kDp, 2000), reasons::kConsentMissing);
  EXPECT_EQ(reason("ann", kShare, static_cast<ConsentTier>(0), 2000), reasons::kConsentMissing);
  EXPECT_EQ(reason("ann", kShare, ConsentTier::kDp, 999), reasons::kConsentMissing);
  EXPECT_EQ(reason("ann", kShare, ConsentTier::kDp, 5000), reasons::kConsentExpired);
}

TEST_F(UserConsentTest, ASessionDecidesForItself) {
  ASSERT_TRUE(register_.Put(Record("ann", 3)).ok());
  ASSERT_TRUE(register_.Put(Record("s1", 0, RecordKind::kSession)).ok());
  ASSERT_TRUE(register_.Put(Record("s2", 3, RecordKind::kSession)).ok());
  const auto ok = [this](const char* user, const char* session) {
    return register_.Require({.user = user, .session = session}, 1, ConsentTier::kDp, 2000).ok();
  };
  EXPECT_FALSE(ok("ann", "s1"));
  EXPECT_TRUE(ok("bob", "s2"));
  EXPECT_TRUE(ok("ann", "s3"));
  EXPECT_FALSE(ok("s2", ""));  // a session's name is not that of a user
}

TEST_F(UserConsentTest, AReplayedGrantDoesNotUndoAWithdrawal) {
  const UserConsent grant = Record("ann", 3);
  ASSERT_TRUE(register_.Put(grant).ok());
  UserConsent withdrawal = Record("ann", 0);
  withdrawal.granted_ms = 1500;
  ASSERT_TRUE(register_.Put(withdrawal).ok());
  ASSERT_TRUE(register_.Put(grant).ok());
  const Contributor ann = {.user = "ann", .session = ""};
  EXPECT_FALSE(register_.Require(ann, 1, ConsentTier::kDp, 2000).ok());
  // A user may withdraw between training and release.
  EXPECT_EQ(ReasonOf(register_.RequireAll(std::vector{ann}, 3, ConsentTier::kDp, 2000)),
            reasons::kConsentMissing);
}

TEST_F(UserConsentTest, AWithdrawalInTheMomentOfItsGrantHolds) {
  const Contributor ann = {.user = "ann", .session = ""};
  ASSERT_TRUE(register_.Put(Record("ann", 3)).ok());
  ASSERT_TRUE(register_.Put(Record("ann", 0)).ok());
  EXPECT_FALSE(register_.Require(ann, 1, ConsentTier::kDp, 2000).ok());
  ASSERT_TRUE(register_.Put(Record("ann", 3)).ok());
  EXPECT_FALSE(register_.Require(ann, 1, ConsentTier::kDp, 2000).ok());
}

TEST_F(UserConsentTest, AUsersLaterWithdrawalReachesSessionsThatAgreedBefore) {
  const Contributor ann = {.user = "ann", .session = "s1"};
  const auto put = [this](const char* id, RecordKind kind, uint8_t purposes, int64_t granted_ms) {
    UserConsent record = Record(id, purposes, kind);
    record.granted_ms = granted_ms;
    ASSERT_TRUE(register_.Put(record).ok());
  };
  put("s1", RecordKind::kSession, 3, 1000);
  EXPECT_TRUE(register_.Require(ann, 3, ConsentTier::kDp, 2000).ok());
  put("ann", RecordKind::kUser, consent_purposes::kTraining, 1200);
  EXPECT_TRUE(register_.Require(ann, 1, ConsentTier::kDp, 2000).ok());
  EXPECT_FALSE(register_.Require(ann, 3, ConsentTier::kDp, 2000).ok());
  put("ann", RecordKind::kUser, 0, 1500);
  EXPECT_FALSE(register_.Require(ann, 1, ConsentTier::kDp, 2000).ok());
  put("s1", RecordKind::kSession, 3, 1600);  // asked again, this session agreed
  EXPECT_TRUE(register_.Require(ann, 3, ConsentTier::kDp, 2000).ok());
}

TEST_F(UserConsentTest, AllOrNothing) {
  ASSERT_TRUE(register_.Put(Record("ann", 3)).ok());
  const Contributor ann = {.user = "ann", .session = ""};
  const Contributor bob = {.user = "bob", .session = ""};
  EXPECT_TRUE(register_.RequireAll(std::vector{ann, ann}, 3, ConsentTier::kDp, 2000).ok());
  const absl::Status missing =
      register_.RequireAll(std::vector{ann, bob}, 3, ConsentTier::kDp, 2000);
  EXPECT_EQ(ReasonOf(missing), reasons::kConsentMissing);
  EXPECT_THAT(MessageOf(missing), testing::HasSubstr("1 of 2"));
  EXPECT_THAT(MessageOf(missing), testing::Not(testing::HasSubstr("bob")));
  EXPECT_EQ(ReasonOf(register_.RequireAll({}, 3, ConsentTier::kDp, 2000)),
            reasons::kConsentMissing);
}

constexpr char kPolicy[] = R"(version = 1
[scope.support]
tiers = ["masked", "dp"]
purposes = ["training", "sharing"]
[scope.clinic]
purposes = ["training"]
)";

TEST(SitePolicy, AllowsWhatItLists) {
  const SitePolicy policy = SitePolicy::Parse(kPolicy).value();
  const auto reason = [&policy](const char* scope, uint8_t purpose, ConsentTier tier) {
    return ReasonOf(policy.Require(scope, purpose, tier));
  };
  EXPECT_EQ(reason("support", 3, ConsentTier::kDp), "");
  EXPECT_EQ(reason("support", 2, ConsentTier::kMasked), "");
  EXPECT_EQ(reason("support", 2, ConsentTier::kPublic), reasons::kPolicyRefuses);
  EXPECT_EQ(reason("support", 0, ConsentTier::kDp), reasons::kPolicyRefuses);
  EXPECT_EQ(reason("clinic", 1, ConsentTier::kPrivate), "");
  EXPECT_EQ(reason("clinic", 2, ConsentTier::kDp), reasons::kPolicyRefuses);
  EXPECT_EQ(reason("clinic", 3, ConsentTier::kDp), reasons::kPolicyRefuses);
}

TEST(SitePolicy, AnUnknownScopeIsRefused) {
  const SitePolicy policy = SitePolicy::Parse(kPolicy).value();
  for (const char* scope : {"", "Support", "support ", "sup", "default", "*"}) {
    EXPECT_EQ(ReasonOf(policy.Require(scope, 1, ConsentTier::kPrivate)), reasons::kScopeUnknown)
        << scope;
  }
  const SitePolicy empty = SitePolicy::Parse("version = 1").value();
  EXPECT_EQ(ReasonOf(empty.Require("support", 1, ConsentTier::kDp)), reasons::kScopeUnknown);
  EXPECT_EQ(ReasonOf(SitePolicy().Require("support", 1, ConsentTier::kDp)), reasons::kScopeUnknown);
}

TEST(SitePolicy, WhatItDoesNotKnowIsAnError) {
  for (const char* text :
       {"", "version = 2", "version = \"1\"", "version = 1\ndefault = true",
        "version = 1\nscope = 3", "version = 1\nscope.a = 3",
        "version = 1\n[scope.a]\ntier = [\"dp\"]", "version = 1\n[scope.a]\ntiers = [\"DP\"]",
        "version = 1\n[scope.a]\ntiers = \"dp\"", "version = 1\n[scope.a]\ntiers = [3]",
        "version = 1\n[scope.a]\npurposes = [\"sale\"]", "version = 1\n[scope.a",
        "version = 1\n[scope.a]\n[scope.a]"}) {
    EXPECT_EQ(ReasonOf(SitePolicy::Parse(text).status()), reasons::kPolicyInvalid) << text;
  }
  std::string many = "version = 1\n";
  for (size_t i = 0; i <= limits::kMaxPolicyScopes; ++i) {
    many += "[scope.s" + std::to_string(i) + "]\n";
  }
  EXPECT_EQ(ReasonOf(SitePolicy::Parse(many).status()), reasons::kLimitExceeded);
  EXPECT_EQ(
      ReasonOf(SitePolicy::Parse("version = 1\n[scope." + std::string(65, 'a') + "]").status()),
      reasons::kLimitExceeded);
  EXPECT_EQ(ReasonOf(SitePolicy::Parse(std::string(limits::kMaxPolicyBytes + 1, '\n')).status()),
            reasons::kLimitExceeded);
}

}  // namespace
}  // namespace ruvd::privacy
