// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/process/node_files.h"
#include "node/program/program.h"

namespace ruvd::cli {

namespace fs = std::filesystem;
using nlohmann::json;

// Returns a number of 64 bits, which protobuf's JSON holds as a text.
inline uint64_t Number(const json& text) {
  return std::stoull(text.get<std::string>());
}
using testing::HasSubstr;

// Tests the verbs of `ruvd store` on the folder of a node that does not run.
class CliStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("cli_store_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    config_.node.data_dir = folder_ / "data";
    config_.storage.reserve_bytes = 2;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<storage::Database> Open() {
    auto files = node::OpenNodeFiles(config_, SystemClock());
    EXPECT_TRUE(files.ok()) << files.status();
    auto database = node::OpenNodeStore(config_, *files->seal_source, SystemClock());
    EXPECT_TRUE(database.ok()) << database.status();
    return *std::move(database);
  }
  void Put(std::string_view key, std::string_view value, const storage::KeyScope& scope = {}) {
    const auto database = Open();
    storage::Batch batch;
    batch.Put(storage::ColumnFamily::kMeta, key, value, 0, scope);
    ASSERT_TRUE(database->Write(std::move(batch), storage::Durability::kPowerLoss).ok());
  }
  int Run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    CommandContext context{.out = out_, .err = err_};
    for (const std::string& more : {std::string("--node.data_dir"), config_.node.data_dir,
                                    std::string("--storage.seal_key"), config_.storage.seal_key}) {
      arguments.push_back(more);
    }
    if (!config_.storage.passphrase_file.empty()) {
      arguments.insert(arguments.end(),
                       {"--storage.passphrase_file", config_.storage.passphrase_file});
    }
    return node::RunProgram(arguments, context);
  }
  json RunJson(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    EXPECT_EQ(Run(std::move(arguments)), 0) << err_.str();
    return json::parse(out_.str());
  }

  fs::path folder_;
  config::NodeConfig config_;
  std::ostringstream out_;
  std::ostringstream err_;
};

}  // namespace ruvd::cli
