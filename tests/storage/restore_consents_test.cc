// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What was withdrawn or erased after a backup stays so when the backup is restored. Found by a
// hostile review: a restore began to share again for people who had said no.

#include <map>
#include <memory>
#include <string>

#include "base/file.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/user_consent.h"
#include "privacy/identity/node_key.h"
#include "storage/consent/consent_store.h"
#include "storage/consent/user_consent_store.h"
#include "storage/db/backup.h"
#include "storage/erasure/erasure_notes.h"
#include "storage/reasons.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

namespace fs = std::filesystem;

class RestoreConsentsTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    database_ = OpenStore();
  }
  void Consent(privacy::ConsentTier tier, int64_t now_ms) {
    ASSERT_TRUE(
        ConsentStore(*database_).Set(privacy::ConsentRecord::Sign(tier, now_ms, node_key_)).ok());
  }
  void ConsentOf(const std::string& user, uint8_t purposes, int64_t now_ms) {
    privacy::UserConsent fields;
    fields.subject.id = user;
    fields.purposes = purposes;
    fields.widest = purposes == 0 ? privacy::ConsentTier::kPrivate : privacy::ConsentTier::kPublic;
    fields.granted_ms = now_ms;
    fields.expires_ms = now_ms + 1'000'000;
    const auto record = privacy::UserConsent::Sign(fields, node_key_);
    ASSERT_TRUE(record.ok()) << record.status();
    ASSERT_TRUE(UserConsentStore(*database_).Put(*record).ok());
  }
  void Say(const std::string& user, const std::string& text) {
    Batch batch;
    batch.Put(ColumnFamily::kMeta, user, text, 0, KeyScope::User(user));
    ASSERT_TRUE(database_->Write(std::move(batch), Durability::kPowerLoss).ok());
  }
  absl::StatusOr<std::string> Said(const std::string& user) {
    return database_->Get(ColumnFamily::kMeta, user);
  }
  void Erase(const std::string& user) {
    clock_.StepWall(1000);  // keys are told apart by their age
    ASSERT_TRUE(NoteErasure(*database_, KeyScope::User(user)).ok());
    clock_.StepWall(1000);
    ASSERT_TRUE(database_->Erase(KeyScope::User(user)).ok());
  }
  void BackUp() {
    fs::remove_all(Folder());
    ASSERT_TRUE(database_->Backup(Folder()).ok());
  }
  RestoreReport Restore() {
    database_.reset();
    const auto report = RestoreBackup({.backup = Folder(), .store = Store(), .key = key_});
    EXPECT_TRUE(report.ok()) << report.status();
    database_ = OpenStore();
    return report.value_or(RestoreReport());
  }
  std::string Folder() const { return (folder_ / "backup").string(); }
  std::string Store() const { return (folder_ / "store").string(); }

  const privacy::NodeKey node_key_ = privacy::NodeKey::Generate();
  std::unique_ptr<Database> database_;
};

TEST_F(RestoreConsentsTest, WhatWasWithdrawnStaysWithdrawn) {
  Consent(privacy::ConsentTier::kPublic, 10);
  ConsentOf("ann", privacy::consent_purposes::kSharing, 11);
  BackUp();
  Consent(privacy::ConsentTier::kPrivate, 20);
  ASSERT_TRUE(ConsentStore(*database_).StoreSharedTotals({.plain = true, .bytes_sent = 9}).ok());
  ConsentOf("ann", 0, 21);
  ConsentOf("bob", privacy::consent_purposes::kSharing, 22);
  const RestoreReport report = Restore();
  EXPECT_TRUE(report.consents_carried);
  const ConsentStore consent(*database_);
  EXPECT_EQ(consent.Get().value()->tier, privacy::ConsentTier::kPrivate);
  EXPECT_EQ(consent.LoadSharedTotals()->bytes_sent, 9u);
  EXPECT_FALSE(consent.IsSuspended().value());
  const auto users = UserConsentStore(*database_).All();
  ASSERT_TRUE(users.ok());
  std::map<std::string, int> purposes;
  for (const privacy::UserConsent& consent_of_user : users->read) {
    purposes[consent_of_user.subject.id] = consent_of_user.purposes;
  }
  EXPECT_THAT(purposes, testing::ElementsAre(testing::Pair("ann", 0), testing::Pair("bob", 2)));
}

TEST_F(RestoreConsentsTest, WithoutThePresentStoreNothingIsSharedAtFirst) {
  Consent(privacy::ConsentTier::kPublic, 10);
  ASSERT_TRUE(ConsentStore(*database_).StoreSharedTotals({.plain = true, .bytes_sent = 9}).ok());
  BackUp();
  database_.reset();
  fs::remove_all(Store());
  EXPECT_FALSE(Restore().consents_carried);
  ConsentStore consent(*database_);
  EXPECT_TRUE(consent.IsSuspended().value());
  EXPECT_TRUE(consent.LoadSharedTotals()->plain);
  ASSERT_TRUE(consent.StoreSharedTotals({.plain = true, .bytes_sent = 10}).ok());
  EXPECT_TRUE(consent.IsSuspended().value()) << "counting is no consent";
  Consent(privacy::ConsentTier::kPublic, 30);
  EXPECT_FALSE(consent.IsSuspended().value());
}

TEST_F(RestoreConsentsTest, ANodeThatSharedNothingIsNotSuspended) {
  BackUp();
  database_.reset();
  fs::remove_all(Store());
  EXPECT_FALSE(Restore().consents_carried);
  EXPECT_FALSE(ConsentStore(*database_).IsSuspended().value());
  Consent(privacy::ConsentTier::kPrivate, 10);
  ASSERT_TRUE(ConsentStore(*database_).Suspend().ok());
  EXPECT_FALSE(ConsentStore(*database_).IsSuspended().value());
}

TEST_F(RestoreConsentsTest, WhoWasErasedStaysErased) {
  Say("ann", "a secret");
  Say("bob", "a song");
  BackUp();
  Erase("ann");
  ASSERT_TRUE(database_->Compact().ok());  // now no key of hers is known any more
  Say("ann", "something new");
  for (int restores = 1; restores <= 2; ++restores) {
    EXPECT_EQ(Restore().erased_again, 1u) << restores;
    EXPECT_EQ(ReasonOf(Said("ann").status()), reasons::kKeyDestroyed) << restores;
    EXPECT_EQ(Said("bob").value(), "a song");
  }
  Say("ann", "a new beginning");
  EXPECT_EQ(Said("ann").value(), "a new beginning");
}

TEST_F(RestoreConsentsTest, WhatAUserSaidAfterTheErasureIsRestored) {
  Say("ann", "a secret");
  Erase("ann");
  Say("ann", "something new");
  BackUp();
  EXPECT_EQ(Restore().erased_again, 0u);
  EXPECT_EQ(Said("ann").value(), "something new");
}

TEST_F(RestoreConsentsTest, ANewKeyIsNoErasure) {
  Say("ann", "a song");
  BackUp();
  ASSERT_TRUE(database_->RotateDataKeys(KeyScope::User("ann").name()).ok());
  for (bool more = true; more;) {
    const auto step = database_->ResealStep();
    ASSERT_TRUE(step.ok()) << step.status();
    more = *step;
  }
  EXPECT_EQ(Restore().erased_again, 0u);
  EXPECT_EQ(Said("ann").value(), "a song");
}

// Found by review: numbers of keys are given again after a restart, so a number does not tell a key
// from its successor.
TEST_F(RestoreConsentsTest, AKeyOfTheSameNumberIsNotTheErasedOne) {
  Say("ann", "a secret");
  Erase("ann");
  ASSERT_TRUE(database_->Compact().ok());
  database_.reset();
  clock_.StepWall(1000);
  database_ = OpenStore();
  Say("ann", "something new");
  BackUp();
  EXPECT_EQ(Restore().erased_again, 0u);
  EXPECT_EQ(Said("ann").value(), "something new");
}

TEST_F(RestoreConsentsTest, AnErasureIsNotedEvenIfNothingIsLeft) {
  Say("ann", "a secret");
  BackUp();
  ASSERT_TRUE(database_->Erase(KeyScope::User("ann")).ok());
  ASSERT_TRUE(database_->Compact().ok());
  ASSERT_TRUE(NoteErasure(*database_, KeyScope::User("ann")).ok());
  EXPECT_EQ(Restore().erased_again, 1u);
}

// Found by review: an older store in the present place took withdrawals of the backup back.
TEST_F(RestoreConsentsTest, TheNewerConsentOfBothStoresHolds) {
  ConsentOf("ann", privacy::consent_purposes::kSharing, 11);
  Consent(privacy::ConsentTier::kPublic, 10);
  BackUp();
  fs::rename(Folder(), folder_ / "older");
  ConsentOf("ann", 0, 21);
  Consent(privacy::ConsentTier::kPrivate, 20);
  BackUp();
  database_.reset();
  ASSERT_TRUE(RestoreBackup({.backup = (folder_ / "older").string(),
                             .store = (folder_ / "second").string(),
                             .key = key_})
                  .ok());
  fs::remove_all(Store());
  fs::rename(folder_ / "second", Store());
  Restore();
  EXPECT_EQ(ConsentStore(*database_).Get().value()->tier, privacy::ConsentTier::kPrivate);
  EXPECT_EQ(UserConsentStore(*database_).All()->read.at(0).purposes, 0);
}

// Damage in the present store is a reason to restore, and no reason to refuse it.
TEST_F(RestoreConsentsTest, ADamagedConsentSuspendsAndRefusesNothing) {
  Consent(privacy::ConsentTier::kPublic, 10);
  BackUp();
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kConsent, "consent", "damaged").ok());
  EXPECT_FALSE(Restore().consents_carried);
  EXPECT_TRUE(ConsentStore(*database_).IsSuspended().value());
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kConsent, "consent", "damaged").ok());
  BackUp();
  database_.reset();
  fs::remove_all(Store());
  EXPECT_FALSE(Restore().consents_carried);
  EXPECT_EQ(ConsentStore(*database_).Get().value(), std::nullopt);
}

}  // namespace
}  // namespace ruvd::storage
