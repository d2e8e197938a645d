// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// A temporary store with a fixed key, a manual clock and a probe whose answer the test decides.
class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("store_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  DatabaseOptions Options() {
    return {.path = (folder_ / "store").string(),
            .seal_key = key_,
            .clock = &clock_,
            .soft_reserve_bytes = 2000,
            .hard_reserve_bytes = 1000,
            .free_bytes = [this](const std::string&) -> absl::StatusOr<uint64_t> {
              ++probes_;
              return free_bytes_;
            }};
  }
  std::unique_ptr<Database> OpenStore() { return OpenStore(Options()); }
  static std::unique_ptr<Database> OpenStore(DatabaseOptions options) {
    auto database = Database::Open(std::move(options));
    EXPECT_TRUE(database.ok()) << database.status();
    return database.ok() ? std::move(*database) : nullptr;
  }
  static absl::Status PutOne(Database& database, ColumnFamily family, std::string_view key,
                             std::string_view value, uint32_t generation = 0) {
    Batch batch;
    batch.Put(family, key, value, generation);
    return database.Write(std::move(batch), Durability::kProcessCrash);
  }

  std::filesystem::path folder_;
  privacy::SealKey key_ = privacy::SealKey::Generate();
  ManualClock clock_;
  uint64_t free_bytes_ = uint64_t{1} << 40;
  int probes_ = 0;
};

}  // namespace ruvd::storage
