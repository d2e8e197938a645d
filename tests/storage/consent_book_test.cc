// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/consent/consent_book.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "privacy/reasons.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd::storage {
namespace {

constexpr int64_t kBookNow = 5'000;
constexpr int64_t kBookDay = 24LL * 3600 * 1000;

class ConsentBookTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    store_ = std::make_unique<UserConsentStore>(*database_);
    Open();
  }
  void Open() { book_ = ConsentBook::Open(*store_, key_).value(); }
  absl::Status Record(privacy::ConsentSubject::Kind kind, const std::string& id, uint8_t purposes,
                      privacy::ConsentTier widest = privacy::ConsentTier::kDp,
                      int64_t now_ms = kBookNow) {
    return book_
        ->Record({.subject = {.kind = kind, .id = id},
                  .purposes = purposes,
                  .widest = widest,
                  .expires_ms = kBookDay},
                 now_ms)
        .status();
  }
  // Replaces the row of a user by one that cannot be decoded.
  void Damage(const std::string& user) {
    Batch batch;
    batch.Put(ColumnFamily::kConsent, UserConsentStore::KeyOf({.id = user}), "x");
    ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  }
  bool MayShare(const std::string& user, const std::string& session, privacy::ConsentTier tier,
                int64_t now_ms = kBookNow) const {
    const privacy::Contributor one[] = {
        book_->ContributorOf({.session_id = session, .user_id = user})};
    return book_->MayShare(one, tier, now_ms);
  }
  bool MayPrepare(const std::string& user, int64_t now_ms = kBookNow) const {
    return book_->MayPrepare(book_->ContributorOf({.user_id = user}), now_ms);
  }

  const privacy::NodeKey key_ = privacy::NodeKey::FromSeed(test::SeedOf(1));
  std::unique_ptr<UserConsentStore> store_;
  std::unique_ptr<ConsentBook> book_;
};

TEST_F(ConsentBookTest, WithoutARecordUsersAreSilentAndOthersFollowTheOperator) {
  EXPECT_FALSE(MayPrepare("alice"));
  EXPECT_FALSE(MayShare("alice", "", privacy::ConsentTier::kDp));
  EXPECT_TRUE(MayPrepare(""));
  EXPECT_TRUE(MayShare("", "s", privacy::ConsentTier::kPublic));
  EXPECT_FALSE(book_->MayShare({}, privacy::ConsentTier::kDp, kBookNow)) << "nobody did not agree";
}

TEST_F(ConsentBookTest, AConsentHoldsForItsPurposeItsTierAndItsTime) {
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kUser, "alice", privacy::consent_purposes::kTraining)
          .ok());
  EXPECT_FALSE(MayPrepare("alice")) << "not for sharing";
  constexpr int64_t kLater = kBookNow + 1;  // a record replaces those of earlier moments
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kUser, "alice", privacy::consent_purposes::kAll).ok());
  EXPECT_TRUE(MayPrepare("alice", kLater));
  EXPECT_TRUE(MayShare("alice", "", privacy::ConsentTier::kDp, kLater));
  EXPECT_FALSE(MayShare("alice", "", privacy::ConsentTier::kPublic, kLater));
  EXPECT_TRUE(MayShare("alice", "", privacy::ConsentTier::kDp, kBookNow + kBookDay));
  EXPECT_FALSE(MayShare("alice", "", privacy::ConsentTier::kDp, kBookNow + kBookDay + 1));
  EXPECT_FALSE(book_->EndedSince(0, kBookNow + kBookDay - 1));
  EXPECT_TRUE(book_->EndedSince(kBookNow + kBookDay - 1, kBookNow + kBookDay + 1));
}

TEST_F(ConsentBookTest, ASessionsWithdrawalCountsForRequestsOfNobodyToo) {
  ASSERT_TRUE(Record(privacy::ConsentSubject::Kind::kSession, "s", 0).ok());
  EXPECT_FALSE(MayShare("", "s", privacy::ConsentTier::kDp));
  EXPECT_TRUE(MayShare("", "t", privacy::ConsentTier::kDp));
}

TEST_F(ConsentBookTest, RecordsOutliveARestartAndHoldWhereTheClockWentBack) {
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kUser, "alice", privacy::consent_purposes::kAll).ok());
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kUser, "alice", 0, privacy::ConsentTier::kPrivate, 1)
          .ok());
  EXPECT_FALSE(MayPrepare("alice"));
  Open();
  EXPECT_FALSE(MayPrepare("alice"));
  ASSERT_EQ(book_->All().size(), 1u);
  EXPECT_EQ(book_->All()[0].subject.id, "alice");
  EXPECT_EQ(book_->All()[0].granted_ms, kBookNow + 1);
}

TEST_F(ConsentBookTest, ARecordOfAnotherNodeAllowsNothing) {
  const privacy::NodeKey other = privacy::NodeKey::FromSeed(test::SeedOf(2));
  const auto foreign = privacy::UserConsent::Sign({.subject = {.id = "alice"},
                                                   .purposes = privacy::consent_purposes::kAll,
                                                   .widest = privacy::ConsentTier::kPublic,
                                                   .granted_ms = 1,
                                                   .expires_ms = kBookDay},
                                                  other);
  ASSERT_TRUE(store_->Put(*foreign).ok());
  Open();
  EXPECT_TRUE(book_->All().empty());
  EXPECT_FALSE(MayPrepare("alice"));
}

// Found by review: a damaged row counted as missing, and a withdrawal was lost with it.
TEST_F(ConsentBookTest, ADamagedWithdrawalIsNotTakenForSilence) {
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kSession, "s", privacy::consent_purposes::kAll).ok());
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kUser, "bob", privacy::consent_purposes::kAll).ok());
  ASSERT_TRUE(Record(privacy::ConsentSubject::Kind::kUser, "alice", 0,
                     privacy::ConsentTier::kPrivate, 6'000)
                  .ok());
  constexpr int64_t kAfter = 7'000;
  ASSERT_FALSE(MayShare("alice", "s", privacy::ConsentTier::kDp, kAfter)) << "withdrawn";
  Damage("alice");
  Open();
  EXPECT_FALSE(MayShare("alice", "s", privacy::ConsentTier::kDp, kAfter))
      << "the withdrawal may be hers";
  EXPECT_FALSE(MayShare("carol", "s", privacy::ConsentTier::kDp, kAfter)) << "or anybody's";
  EXPECT_FALSE(MayShare("", "t", privacy::ConsentTier::kDp, kAfter)) << "or that of the session";
  EXPECT_TRUE(MayShare("bob", "", privacy::ConsentTier::kDp, kAfter)) << "what bob said is known";
  EXPECT_TRUE(MayShare("", "", privacy::ConsentTier::kDp, kAfter)) << "nobody's";
  const privacy::Contributor alice[] = {
      book_->ContributorOf({.session_id = "s", .user_id = "alice"})};
  EXPECT_EQ(ReasonOf(book_->ForRelease(privacy::ConsentTier::kDp, kAfter)
                         .RequireAll(alice, privacy::consent_purposes::kAll,
                                     privacy::ConsentTier::kDp, kAfter)),
            reasons::kConsentDamaged);
}

TEST_F(ConsentBookTest, WhoeverIsAskedAgainRepairsTheDamage) {
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kUser, "alice", 0, privacy::ConsentTier::kPrivate)
          .ok());
  Damage("alice");
  Open();
  ASSERT_FALSE(MayShare("", "t", privacy::ConsentTier::kDp));
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kUser, "alice", privacy::consent_purposes::kAll).ok());
  EXPECT_TRUE(MayShare("", "t", privacy::ConsentTier::kDp));
  EXPECT_TRUE(MayShare("alice", "t", privacy::ConsentTier::kDp));
}

TEST_F(ConsentBookTest, ARecordOfAnotherKeyHoldsItsSubjectBack) {
  const auto foreign = privacy::UserConsent::Sign({.subject = {.id = "alice"},
                                                   .widest = privacy::ConsentTier::kPrivate,
                                                   .granted_ms = 1,
                                                   .expires_ms = kBookDay},
                                                  privacy::NodeKey::FromSeed(test::SeedOf(2)));
  ASSERT_TRUE(store_->Put(*foreign).ok());
  Open();
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kSession, "s", privacy::consent_purposes::kAll).ok());
  EXPECT_FALSE(MayShare("alice", "s", privacy::ConsentTier::kDp))
      << "it may have been a withdrawal";
  EXPECT_TRUE(MayShare("carol", "s", privacy::ConsentTier::kDp));
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kUser, "alice", privacy::consent_purposes::kAll).ok());
  EXPECT_TRUE(MayShare("alice", "s", privacy::ConsentTier::kDp));
}

TEST_F(ConsentBookTest, AReleaseAsksTheOperatorAndEverybodyElse) {
  const privacy::Contributor nobody[] = {book_->ContributorOf({})};
  const privacy::Contributor both[] = {book_->ContributorOf({}),
                                       book_->ContributorOf({.user_id = "alice"})};
  const auto require = [this](std::span<const privacy::Contributor> of,
                              privacy::ConsentTier operators) {
    return book_->ForRelease(operators, kBookNow)
        .RequireAll(of, privacy::consent_purposes::kAll, privacy::ConsentTier::kDp, kBookNow)
        .ok();
  };
  EXPECT_TRUE(require(nobody, privacy::ConsentTier::kDp));
  EXPECT_FALSE(require(nobody, privacy::ConsentTier::kPrivate));
  EXPECT_FALSE(require(both, privacy::ConsentTier::kDp));
  ASSERT_TRUE(
      Record(privacy::ConsentSubject::Kind::kUser, "alice", privacy::consent_purposes::kAll).ok());
  EXPECT_TRUE(require(both, privacy::ConsentTier::kDp));
}

}  // namespace
}  // namespace ruvd::storage
