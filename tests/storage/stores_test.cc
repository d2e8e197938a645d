// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests federated items, consent and the boot counter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "base/file.h"
#include "storage/consent/consent_store.h"
#include "storage/counters/counter_store.h"
#include "storage/items/item_store.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

class SmallStoresTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    database_ = OpenStore();
  }
  void TearDown() override {
    database_.reset();
    StoreTest::TearDown();
  }
  void Reopen() {
    database_.reset();
    database_ = OpenStore();
  }
  std::unique_ptr<Database> database_;
};

TEST_F(SmallStoresTest, ItemsKeepTheirFirstContent) {
  const Digest id = Sha256("item");
  const Digest other = Sha256("other");
  const FederatedItem item{.header = "h",
                           .body = "b",
                           .signature = "s",
                           .payload = std::string(100'000, 'p'),
                           .received_ms = 5};
  ASSERT_TRUE(ItemStore(*database_).Put(id, item).ok());
  ASSERT_TRUE(ItemStore(*database_).Put(id, {.header = "changed"}).ok());
  Reopen();
  ItemStore store(*database_);
  const auto stored = store.Get(id);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->header, item.header);
  EXPECT_EQ(stored->body, item.body);
  EXPECT_EQ(stored->signature, item.signature);
  EXPECT_EQ(stored->payload, item.payload);
  EXPECT_EQ(stored->received_ms, item.received_ms);
  EXPECT_TRUE(store.Contains(id).value());
  EXPECT_FALSE(store.Contains(other).value());
  EXPECT_EQ(ReasonOf(store.Get(other).status()), reasons::kNotFound);
  ASSERT_TRUE(store.Put(other, {.header = "2"}).ok());
  std::vector<Digest> ids;
  EXPECT_TRUE(store
                  .ForEach(
                      [&](const Digest& found, const FederatedItem&) {
                        ids.push_back(found);
                        return true;
                      },
                      [](std::string_view) { ADD_FAILURE() << "a damaged item"; })
                  .ok());
  EXPECT_THAT(ids, testing::UnorderedElementsAre(id, other));
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  ASSERT_TRUE(store.Delete(id).ok());
  ASSERT_TRUE(store.Delete(id).ok());
  EXPECT_FALSE(store.Contains(id).value());
}

TEST_F(SmallStoresTest, ItemsOverTheLimitsAreRefused) {
  ItemStore store(*database_);
  const Digest id = Sha256("item");
  EXPECT_EQ(ReasonOf(store.Put(id, {.body = std::string(limits::kMaxItemEnvelopeBytes + 1, 'b')})),
            reasons::kLimitExceeded);
  EXPECT_EQ(
      ReasonOf(store.Put(id, {.payload = std::string(limits::kMaxItemPayloadBytes + 1, 'p')})),
      reasons::kLimitExceeded);
  ASSERT_TRUE(store.Put(id, {.payload = std::string(limits::kMaxItemPayloadBytes, 'p')}).ok());
}

// A peer can send an item again, so one damaged row must not stop federation.
TEST_F(SmallStoresTest, DamagedItemsArePassedOverAndMakeRoom) {
  const std::array<Digest, 4> ids = {Sha256("0"), Sha256("1"), Sha256("2"), Sha256("3")};
  for (const Digest& id : ids) {
    ASSERT_TRUE(ItemStore(*database_).Put(id, {.header = "h"}).ok());
  }
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kItem, "short key", "x").ok());
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kItem, AsText(ids[1]), "\xff").ok());
  database_.reset();
  DamageRows(Options().path, {{ColumnFamily::kItem, std::string(AsText(ids[2]))}});
  Reopen();
  ItemStore store(*database_);
  std::vector<Digest> whole;
  std::vector<std::string> damaged;
  const auto look = [&] {
    whole.clear();
    damaged.clear();
    return store.ForEach(
        [&](const Digest& id, const FederatedItem&) {
          whole.push_back(id);
          return true;
        },
        [&](std::string_view key) { damaged.emplace_back(key); });
  };
  ASSERT_TRUE(look().ok());
  EXPECT_THAT(whole, testing::UnorderedElementsAre(ids[0], ids[3]));
  EXPECT_THAT(damaged, testing::UnorderedElementsAre("short key", AsText(ids[1]), AsText(ids[2])));
  ASSERT_TRUE(store.DeleteDamaged(damaged).ok());
  ASSERT_TRUE(store.DeleteDamaged({}).ok());
  ASSERT_TRUE(store.Put(ids[2], {.header = "again"}).ok());
  ASSERT_TRUE(look().ok());
  EXPECT_THAT(whole, testing::UnorderedElementsAre(ids[0], ids[2], ids[3]));
  EXPECT_TRUE(damaged.empty());
}

TEST_F(SmallStoresTest, ConsentIsKeptAndStillVerifies) {
  ConsentStore store(*database_);
  EXPECT_EQ(store.Get().value(), std::nullopt);
  const privacy::NodeKey key = privacy::NodeKey::Generate();
  ASSERT_TRUE(store.Set(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, 77, key)).ok());
  Reopen();
  const auto record = ConsentStore(*database_).Get();
  ASSERT_TRUE(record.ok() && record->has_value());
  EXPECT_EQ((*record)->tier, privacy::ConsentTier::kPublic);
  EXPECT_EQ((*record)->since_ms, 77);
  EXPECT_TRUE((*record)->Verify(key).ok());
  ASSERT_TRUE(ConsentStore(*database_)
                  .Set(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPrivate, 78, key))
                  .ok());
  EXPECT_EQ((*ConsentStore(*database_).Get())->tier, privacy::ConsentTier::kPrivate);
}

TEST_F(SmallStoresTest, WhatLeftIsKeptBesideEveryConsent) {
  ConsentStore store(*database_);
  const SharedTotals left{.plain = true, .bytes_sent = 5'000'000'000};
  ASSERT_TRUE(store.StoreSharedTotals(left).ok());
  EXPECT_EQ(store.LoadSharedTotals().value(), SharedTotals()) << "without a consent nothing leaves";
  const privacy::NodeKey key = privacy::NodeKey::Generate();
  ASSERT_TRUE(store.Set(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, 77, key)).ok());
  EXPECT_EQ(store.LoadSharedTotals().value(), SharedTotals());
  ASSERT_TRUE(store.StoreSharedTotals(left).ok());
  ASSERT_TRUE(
      store.Set(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPrivate, 78, key)).ok());
  Reopen();
  EXPECT_EQ(ConsentStore(*database_).LoadSharedTotals().value(), left);
  const auto record = ConsentStore(*database_).Get();
  ASSERT_TRUE(record.ok() && record->has_value());
  EXPECT_EQ((*record)->since_ms, 78);
  EXPECT_TRUE((*record)->Verify(key).ok());
}

TEST_F(SmallStoresTest, ConsentRowsThatAreNotOneAreRefused) {
  privacy::ConsentRecord record;
  const std::string good = EncodeConsent(record);
  EXPECT_TRUE(DecodeConsent(good).ok());
  EXPECT_EQ(ReasonOf(DecodeConsent(good.substr(0, good.size() - 1)).status()),
            reasons::kStoreCorrupt);
  EXPECT_EQ(ReasonOf(DecodeConsent("").status()), reasons::kStoreCorrupt);
  record.tier = static_cast<privacy::ConsentTier>(9);
  EXPECT_EQ(ReasonOf(DecodeConsent(EncodeConsent(record)).status()), reasons::kStoreCorrupt);
}

TEST_F(SmallStoresTest, BootsAreCountedAcrossReopens) {
  EXPECT_EQ(CounterStore(*database_).NextBoot().value(), 1U);
  EXPECT_EQ(CounterStore(*database_).NextBoot().value(), 2U);
  Reopen();
  EXPECT_EQ(CounterStore(*database_).NextBoot().value(), 3U);
}

TEST_F(SmallStoresTest, BootsGoOnFromWhicheverCopyIsAhead) {
  const std::string file = database_->path() + "/boot-counter";
  ASSERT_EQ(CounterStore(*database_).NextBoot().value(), 1U);
  ASSERT_TRUE(WriteFileAtomically(file, "41\n").ok());  // the log lost its newest rows
  EXPECT_EQ(CounterStore(*database_).NextBoot().value(), 42U);
  std::filesystem::remove(file);
  EXPECT_EQ(CounterStore(*database_).NextBoot().value(), 43U);
  ASSERT_TRUE(WriteFileAtomically(file, "7\n").ok());
  EXPECT_EQ(CounterStore(*database_).NextBoot().value(), 44U);
}

TEST_F(SmallStoresTest, ADamagedBootCounterStopsInsteadOfGuessing) {
  const std::string file = database_->path() + "/boot-counter";
  for (const char* text :
       {"", "x\n", "5", "5\n\n", "-5\n", "99999999999999999999\n", "18446744073709551615\n"}) {
    ASSERT_TRUE(WriteFileAtomically(file, text).ok());
    EXPECT_EQ(ReasonOf(CounterStore(*database_).NextBoot().status()), reasons::kStoreCorrupt)
        << text;
  }
}

TEST_F(SmallStoresTest, AFullDiskRefusesBootsAndConsent) {
  free_bytes_ = 0;
  clock_.Advance(limits::kReserveProbeInterval);
  EXPECT_EQ(ReasonOf(CounterStore(*database_).NextBoot().status()), reasons::kStoreReadOnly);
  EXPECT_EQ(ReasonOf(ConsentStore(*database_).Set({})), reasons::kStoreReadOnly);
}

}  // namespace
}  // namespace ruvd::storage
