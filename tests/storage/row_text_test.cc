// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Found by review: a text that is not UTF-8 could be written into a row and never be read again, so
// one request closed the witness log, the sessions or the ledger for good.

#include "storage/row_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "storage/ledger/ledger_rows.h"
#include "storage/policies/policy_rows.h"
#include "storage/sessions/session_index.h"
#include "storage/sessions/session_rows.h"
#include "storage/trajectories/trajectory_rows.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_archive.h"
#include "storage/witness/witness_rows.h"
#include "tests/storage/witness_fixture.h"

namespace ruvd::storage {
namespace {

constexpr char kCutCharacter[] = "adapter \xC3";

// Half of the values are text, half are any bytes.
rc::Gen<std::string> AnyBytes() {
  return rc::gen::mapcat(rc::gen::arbitrary<bool>(), [](bool text) {
    auto bytes = rc::gen::resize(40, rc::gen::arbitrary<std::string>());
    return text ? rc::gen::map(bytes, [](const std::string& b) { return ValidUtf8(b); }) : bytes;
  });
}

RC_GTEST_PROP(RowTextPropertyTest, AWitnessEntryIsRefusedOrComesBack, ()) {
  WitnessEntry entry = MakeEntry("id", 1);
  entry.error = {"REASON", "message"};
  std::vector<std::string*> fields = {
      &entry.request_id,  &entry.session_id,    &entry.routing.model,  &entry.model_used,
      &entry.adapters[0], &entry.error->reason, &entry.error->message, &entry.embedded_by};
  *fields[*rc::gen::inRange<size_t>(0, fields.size())] = *AnyBytes();
  if (witness::CheckEntry(entry).ok()) {
    const auto again = witness::DecodeRecord(witness::EncodeRecord(entry));
    RC_ASSERT(again.ok());
    RC_ASSERT(witness::EncodeRecord(*again) == witness::EncodeRecord(entry));
    RC_ASSERT(witness::DecodeArchived(witness::EncodeArchived(entry)).ok());
  }
}

RC_GTEST_PROP(RowTextPropertyTest, ASessionIsRefusedOrComesBack, ()) {
  const bool hybrid = *rc::gen::arbitrary<bool>();
  std::string texts[8] = {"id", "user", "adapter", "history", "location", "q8", "fp16", "value"};
  texts[*rc::gen::inRange(0, 8)] = *AnyBytes();
  SessionState session{.session_id = texts[0],
                       .user_id = texts[1],
                       .kv_cache = KvCacheReference{.location = texts[4]},
                       .active_adapter = texts[2],
                       .history_reference = texts[3]};
  session.kv_cache->quantization = hybrid ? CacheQuantization(HybridCache{1, texts[5], texts[6]})
                                          : CacheQuantization(HighPrecisionTail{1, texts[5]});
  session.metadata[texts[6]] = texts[7];
  if (sessions::CheckSession(session).ok()) {
    const auto again = sessions::DecodeSession(sessions::EncodeSession(session));
    RC_ASSERT(again.ok());
    RC_ASSERT(*again == session);
  }
}

RC_GTEST_PROP(RowTextPropertyTest, APolicyIsRefusedOrComesBack, ()) {
  const std::string text = *AnyBytes();
  Policy policy{.parameters = EwcPolicy{.anchor = text}, .embedding = {1}};
  if (*rc::gen::arbitrary<bool>()) {
    policy.parameters = PatternPolicy{.adapter = text};
  }
  if (policies::CheckPolicy(policy).ok()) {
    const auto again = policies::DecodePolicy(policies::EncodePolicy(policy), policy.id);
    RC_ASSERT(again.ok());
    RC_ASSERT(*again == policy);
  }
}

RC_GTEST_PROP(RowTextPropertyTest, ALedgersSubjectMayBeAnyBytes, ()) {
  const privacy::LedgerCharge charge{.sigma = 1, .subject = *AnyBytes()};
  const privacy::LedgerEntry entry{.sequence = 1, .reservation = 1, .charge = charge};
  RC_ASSERT(ledger::CheckCharge(charge).ok());
  const auto again = ledger::DecodeEntry(ledger::EncodeEntry(entry));
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == entry);
}

class RowTextTest : public WitnessTest {};

TEST_F(RowTextTest, ATrajectoryWithOtherBytesIsRefused) {
  const auto store = TrajectoryStore::Open(*database_).value();
  const auto reason = [&store](const std::function<void(Trajectory*)>& change) {
    Trajectory trajectory{.response_id = "a", .created_ms = 1};
    change(&trajectory);
    return ReasonOf(store->Put(trajectory));
  };
  EXPECT_EQ(reason([](Trajectory*) {}), "");
  for (std::string Trajectory::* field : {&Trajectory::response_id, &Trajectory::session_id,
                                          &Trajectory::prompt, &Trajectory::completion}) {
    EXPECT_EQ(reason([field](Trajectory* t) { t->*field = kCutCharacter; }),
              reasons::kInvalidArgument);
  }
  EXPECT_EQ(reason([](Trajectory* t) { t->adapters = {kCutCharacter}; }),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason([](Trajectory* t) { t->edited_text = kCutCharacter; }),
            reasons::kInvalidArgument);
}

TEST_F(RowTextTest, AnEntryWithOtherBytesIsRefusedAndCounted) {
  WitnessEntry entry = MakeEntry("a", 1);
  entry.error = {"NOT_FOUND", kCutCharacter};
  EXPECT_EQ(ReasonOf(log_->Append(entry, clock_.Now())), reasons::kInvalidArgument);
  EXPECT_EQ(log_->counts().unfit, 1U);
  EXPECT_EQ(log_->counts().queued, 0U);
}

// A row whose text is not UTF-8, as a damaged program would write it.
class UndecodableWitnessTest : public WitnessTest {
 protected:
  void SetUp() override {
    WitnessTest::SetUp();
    options_.retention = {.retention = std::chrono::milliseconds(10'000),
                          .archive_folder = archive_,
                          .archive_key = key_};
    Reopen();
    StoreMany(3);
    // A record whose field 1, a string, is one byte that is no UTF-8.
    ASSERT_TRUE(
        PutOne(*database_, ColumnFamily::kWitness, witness::RecordKey(1000, "e1"), "\x0A\x01\xC3")
            .ok());
  }
};

TEST_F(UndecodableWitnessTest, QueriesPassOverItAndCountIt) {
  const auto page = log_->Query({});
  EXPECT_THAT(IdsOf(page), testing::ElementsAre("e2", "e0"));
  EXPECT_EQ(page->undecodable, 1U);
  const std::vector<float> like = {0.5F, -1.0F};
  const auto similar = log_->Query({.similar_to = like});
  EXPECT_EQ(IdsOf(similar).size(), 2U);
  EXPECT_EQ(similar->undecodable, 1U);
  const auto stats = log_->Stats({});
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->entries, 2U);
  EXPECT_EQ(stats->undecodable, 1U);
}

TEST_F(UndecodableWitnessTest, ArchivingGoesOnWithoutIt) {
  ASSERT_TRUE(log_->ExpireBatch(20'000).ok());
  EXPECT_FALSE(log_->ExpireBatch(20'000)->more);
  EXPECT_EQ(log_->counts().stored, 0U);
  EXPECT_EQ(log_->counts().expired, 3U);
  EXPECT_EQ(log_->counts().undecodable, 1U);
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(archive_)) {
    ++files;
    EXPECT_EQ(ReadWitnessArchive(file.path().string(), key_,
                                 [](const WitnessEntry&) { return absl::OkStatus(); })
                  ->entries,
              2U);
  }
  EXPECT_EQ(files, 1U);
}

TEST_F(RowTextTest, ASessionThatDoesNotDecodeIsLeftOut) {
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kSession, "s/bad", "\x0A\x01\xC3").ok());
  const auto index = SessionIndex::Open(*database_, {.dimension = 2});
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ((*index)->undecodable(), 1U);
  EXPECT_EQ((*index)->size(), 0U);
}

}  // namespace
}  // namespace ruvd::storage
