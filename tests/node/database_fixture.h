// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "storage/db/database.h"
#include "storage/state/state_rows.h"
#include "storage/state/state_store.h"

namespace ruvd {

// Gives every test a folder of its own with a database that refuses no write. Both are destroyed
// after the members of the test class that derives from this one, so what a test opens on the
// database needs no TearDown.
class DatabaseTest : public ::testing::Test {
 protected:
  DatabaseTest() { std::filesystem::remove_all(folder_); }
  ~DatabaseTest() override {
    database_.reset();
    std::filesystem::remove_all(folder_);
  }
  void SetUp() override { OpenDatabase(Options()); }

  // The options that SetUp uses, for tests with another clock or disk.
  virtual storage::DatabaseOptions Options() {
    return {.path = (folder_ / "store").string(),
            .seal_key = privacy::SealKey::Generate(),
            .clock = &clock_,
            .soft_reserve_bytes = 0,
            .hard_reserve_bytes = 0};
  }

  // Whether the state has a value of this name, and damages it.
  template <typename Message>
  bool HasState(const storage::StateName<Message>& name) const {
    return storage::StateStore(*database_).Contains(name).value_or(false);
  }
  template <typename Message>
  void DamageState(const storage::StateName<Message>& name) {
    storage::Batch batch;
    batch.Put(storage::ColumnFamily::kState, storage::state_rows::HeadKey(name.text), "damaged");
    ASSERT_TRUE(database_->Write(std::move(batch), storage::Durability::kProcessCrash).ok());
  }

  const std::filesystem::path folder_ = FolderOfTest();
  ManualClock clock_;
  std::unique_ptr<storage::Database> database_;

 private:
  static std::filesystem::path FolderOfTest() {
    const auto& test = *::testing::UnitTest::GetInstance()->current_test_info();
    return std::filesystem::path(::testing::TempDir()) /
           fmt::format("{}_{}_{}", test.test_suite_name(), test.name(), ::getpid());
  }
  void OpenDatabase(storage::DatabaseOptions options) {
    auto database = storage::Database::Open(std::move(options));
    ASSERT_TRUE(database.ok()) << database.status();
    database_ = *std::move(database);
  }
};

}  // namespace ruvd
