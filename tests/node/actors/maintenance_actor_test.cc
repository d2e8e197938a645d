// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/maintenance_actor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/sim_executor.h"
#include "base/status.h"
#include "tests/node/database_fixture.h"

namespace ruvd::actors {
namespace {

class MaintenanceActorTest : public DatabaseTest {
 protected:
  // The database asks this class's clock when it closes.
  ~MaintenanceActorTest() override {
    system_.reset();
    patterns_.reset();
    database_.reset();
  }
  void SetUp() override {
    DatabaseTest::SetUp();
    patterns_ =
        storage::PatternStore::Open(*database_, {.dimension = 4, .model_hash = Sha256("model")})
            .value();
  }
  storage::DatabaseOptions Options() override {
    storage::DatabaseOptions options = DatabaseTest::Options();
    options.clock = &executor_.clock();
    return options;
  }
  void Start() {
    system_ = std::make_unique<runtime::ActorSystem>(executor_, runtime::ActorSystemOptions{});
    StartMaintenanceActor(*system_, {.database = database_.get(),
                                     .patterns = patterns_.get(),
                                     .pool = &executor_,
                                     .cancelled = [this] { return cancelled_; },
                                     .commits = &commits_});
  }
  void PutRows(int rows) {
    for (int i = 0; i < rows; ++i) {
      storage::Batch batch;
      batch.Put(storage::ColumnFamily::kItem, "row " + std::to_string(i), "value");
      ASSERT_TRUE(database_->Write(std::move(batch), storage::Durability::kProcessCrash).ok());
    }
  }
  size_t Retired() const {
    const auto keys = database_->DataKeys();
    return static_cast<size_t>(std::ranges::count(keys, storage::DataKeyInfo::State::kRetired,
                                                  &storage::DataKeyInfo::state));
  }

  SimExecutor executor_{1};
  bool cancelled_ = false;
  PeerCommits commits_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<runtime::ActorSystem> system_;
};

TEST_F(MaintenanceActorTest, GoesOnWithARotationThatWasInterrupted) {
  PutRows(5000);  // more rows than one round seals
  ASSERT_TRUE(database_->RotateDataKeys("").ok());
  ASSERT_TRUE(database_->ResealStep().value());
  ASSERT_GT(Retired(), 0u);
  Start();
  executor_.RunFor(std::chrono::seconds(3));
  EXPECT_EQ(Retired(), 0u);
  EXPECT_EQ(database_->Get(storage::ColumnFamily::kItem, "row 4999").value(), "value");
  EXPECT_TRUE(database_->Verify()->ok());
}

TEST_F(MaintenanceActorTest, LooksAfterThePatterns) {
  ASSERT_TRUE(patterns_
                  ->Put({.id = {1},
                         .embedding = {1, 2, 3, 4},
                         .expires_ms = executor_.clock().WallMillis() + 5000})
                  .ok());
  ASSERT_TRUE(patterns_->Put({.id = {2}, .embedding = {4, 3, 2, 1}}).ok());
  EXPECT_EQ(patterns_->Stats().pending, 2u);
  Start();
  executor_.RunFor(std::chrono::seconds(2));
  EXPECT_EQ(patterns_->Stats().pending, 0u);
  EXPECT_EQ(patterns_->size(), 2u);
  executor_.RunFor(std::chrono::seconds(10));
  EXPECT_EQ(patterns_->size(), 1u);
  EXPECT_TRUE(patterns_->WasDeleted({1}).value());
}

TEST_F(MaintenanceActorTest, MakesPatternsOfPeersDurable) {
  for (const uint8_t id : {1, 2}) {
    ASSERT_TRUE(
        patterns_->Put({.id = {id}, .embedding = {1, 2, 3, 4}}, storage::Durability::kProcessCrash)
            .ok());
  }
  EXPECT_EQ(patterns_->Stats().last_sequence, 0u);
  Start();
  executor_.RunFor(std::chrono::seconds(2));
  EXPECT_EQ(patterns_->Stats().last_sequence, 2u);
  EXPECT_EQ(commits_.commits, 1u);
  EXPECT_EQ(commits_.put_off, 1u);
}

TEST_F(MaintenanceActorTest, ANodeThatStopsStartsNoMore) {
  PutRows(10);
  ASSERT_TRUE(database_->RotateDataKeys("").ok());
  Start();
  cancelled_ = true;
  executor_.RunFor(std::chrono::seconds(10));
  EXPECT_GT(Retired(), 0u);
}

}  // namespace
}  // namespace ruvd::actors
