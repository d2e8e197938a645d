// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/witness/witness_log.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {

inline WitnessEntry MakeEntry(const std::string& id, int64_t timestamp_ms) {
  return {.request_id = id,
          .session_id = "session",
          .query_embedding = {0.5F, -1.0F},
          .routing = {.model = "m",
                      .context_size = 512,
                      .temperature = 0.7F,
                      .top_p = 0.9F,
                      .confidence = 0.5F,
                      .model_probs = {0.25F, 0.75F},
                      .route = "half_steps"},
          .model_used = "m",
          .quality = 0.5F,
          .latency = {.embedding_ms = 1,
                      .retrieval_ms = 2,
                      .routing_ms = 3,
                      .attention_ms = 4,
                      .generation_ms = 5,
                      .total_ms = 15,
                      .queue_ms = 6},
          .retrieved_ids = {RetrievedId{1, 2, 3}},
          .adapters = {"overlay@1"},
          .response_embedding = {1.0F},
          .timestamp_ms = timestamp_ms,
          .prompt_tokens = 7,
          .completion_tokens = 8,
          .memory_entries = 2010,
          .memory_share = 0.125F};
}

inline std::vector<std::string> IdsOf(const absl::StatusOr<WitnessPage>& page) {
  EXPECT_TRUE(page.ok()) << page.status();
  std::vector<std::string> ids;
  if (page.ok()) {
    for (const WitnessHit& hit : page->hits) {
      ids.push_back(hit.entry.request_id);
    }
  }
  return ids;
}

// A witness log on a temporary store.
class WitnessTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    archive_ = (folder_ / "archive").string();
    std::filesystem::create_directories(archive_);
    Reopen();
  }
  void TearDown() override {
    log_.reset();
    database_.reset();
    StoreTest::TearDown();
  }
  void Reopen() {
    log_.reset();
    database_.reset();
    database_ = OpenStore();
    auto log = WitnessLog::Open(*database_, options_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = std::move(*log);
  }
  void Store(const std::vector<WitnessEntry>& entries) {
    for (const WitnessEntry& entry : entries) {
      ASSERT_TRUE(log_->Append(entry, clock_.Now()).ok());
      ASSERT_TRUE(log_->FlushDue(clock_.Now()).ok());
    }
    ASSERT_TRUE(log_->FlushAll().ok());
  }
  // Stores entries "e0", "e1" and so on, one second apart.
  void StoreMany(int count) {
    std::vector<WitnessEntry> entries;
    for (int i = 0; i < count; ++i) {
      entries.push_back(MakeEntry(fmt::format("e{}", i), 1000 * i));
    }
    Store(entries);
  }

  std::string archive_;
  WitnessLogOptions options_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<WitnessLog> log_;
};

}  // namespace ruvd::storage
