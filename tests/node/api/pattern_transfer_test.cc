// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests imports into and exports from a node that is busy, nearly full, or has a damaged row.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/api/rpc_status.h"
#include "node/api/server.h"
#include "node/cli/pattern_file.h"
#include "node/program/program.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/reasons.h"

namespace ruvd::api {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kTransferPackage(64, 'a');

std::string Id(int n) {
  return fmt::format("{:032x}", n);
}

// Answers the first call about each pattern with an error.
class ReluctantPatterns final : public pattern::v1::PatternService::Service {
 public:
  grpc::Status UpsertPattern(grpc::ServerContext*, const pattern::v1::UpsertPatternRequest* request,
                             pattern::v1::UpsertPatternResponse* response) override {
    if (const absl::Status status = FirstAnswer(request->pattern().id()); !status.ok()) {
      return ToRpcStatus(status);
    }
    response->set_outcome(pattern::v1::UpsertPatternResponse::OUTCOME_CREATED);
    return grpc::Status::OK;
  }
  grpc::Status ListPatterns(grpc::ServerContext*, const pattern::v1::ListPatternsRequest*,
                            pattern::v1::ListPatternsResponse* response) override {
    for (int n = 0; n < 2; ++n) {
      FillPattern(Id(n), response->add_patterns());
    }
    return grpc::Status::OK;
  }
  grpc::Status ExportPattern(
      grpc::ServerContext*, const pattern::v1::ExportPatternRequest* request,
      grpc::ServerWriter<pattern::v1::ExportPatternResponse>* writer) override {
    if (const absl::Status status = FirstAnswer(request->id()); !status.ok()) {
      return ToRpcStatus(status);
    }
    pattern::v1::ExportPatternResponse part;
    FillPattern(request->id(), part.mutable_pattern());
    part.mutable_pattern()->set_adapter_bytes(7);
    writer->Write(part);
    part.set_data("adapter");
    writer->Write(part);
    return grpc::Status::OK;
  }
  static void FillPattern(const std::string& id, pattern::v1::Pattern* pattern) {
    pattern->set_id(id);
    pattern->set_tier(privacy::v1::SHARING_TIER_PRIVATE);
    pattern->set_origin(std::string(64, 'b'));
    pattern->mutable_create_time()->set_seconds(1);
    pattern->mutable_update_time()->set_seconds(1);
    pattern->mutable_embedding()->add_values(1);
    pattern->set_adapter_name("some");
    pattern->set_standing(pattern::v1::PATTERN_STANDING_OWN);
  }

  std::map<std::string, absl::Status> first;  // by id; the others are answered at once

 private:
  absl::Status FirstAnswer(const std::string& id) {
    const std::unique_lock lock(mutex_);
    const auto found = first.find(id);
    return found != first.end() && asked_.insert(id).second ? found->second : absl::OkStatus();
  }
  std::mutex mutex_;
  std::set<std::string> asked_;
};

class NearlyFullNode final : public node::v1::NodeService::Service {
 public:
  grpc::Status GetStatus(grpc::ServerContext*, const node::v1::GetStatusRequest*,
                         node::v1::GetStatusResponse* response) override {
    response->mutable_node()->set_model_package(kTransferPackage);
    response->mutable_node()->set_embedding_dimension(1);
    response->mutable_node()->set_id(std::string(64, 'b'));
    response->mutable_patterns()->set_stored(patterns);
    response->mutable_patterns()->set_capacity(capacity);
    return grpc::Status::OK;
  }
  uint64_t patterns = 0;
  uint64_t capacity = 100;
};

class PatternTransferTest : public testing::Test {
 protected:
  PatternTransferTest() {
    file_ = std::filesystem::path(testing::TempDir()) /
            fmt::format("transfer_{}_{}.jsonl", ::getpid(),
                        testing::UnitTest::GetInstance()->current_test_info()->name());
    server_ = StartServer({.listen = "127.0.0.1:0", .services = {&patterns_, &node_}}).value();
  }
  ~PatternTransferTest() override { std::filesystem::remove(file_); }

  void WriteExport(int patterns) {
    std::string bytes;
    cli::PatternFileWriter writer([&bytes](std::string_view piece) {
      bytes += piece;
      return absl::OkStatus();
    });
    pattern::v1::PatternFileHeader header;
    header.set_model_package(kTransferPackage);
    header.set_dimension(1);
    header.set_node_id(std::string(64, 'b'));
    ASSERT_TRUE(writer.Begin(header).ok());
    for (int n = 0; n < patterns; ++n) {
      pattern::v1::Pattern pattern;
      ReluctantPatterns::FillPattern(Id(n), &pattern);
      ASSERT_TRUE(writer.Add(pattern, "").ok());
    }
    ASSERT_TRUE(writer.End().ok());
    ASSERT_TRUE(WriteFileAtomically(file_.string(), bytes).ok());
  }
  // Returns what `ruvd` prints, errors included.
  std::string Run(const std::string& verb) {
    std::ostringstream out;
    cli::CommandContext context{.out = out, .err = out};
    exit_code_ =
        node::RunProgram({"pattern", verb, file_.string(), "--server", server_.address}, context);
    return out.str();
  }

  std::filesystem::path file_;
  int exit_code_ = 0;
  ReluctantPatterns patterns_;
  NearlyFullNode node_;
  RunningServer server_;
};

// Regression test: a full mailbox, which the node reports as temporary, ended the import of the
// file.
TEST_F(PatternTransferTest, AnImportComesBackToABusyNode) {
  const absl::Status full =
      Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull, "many wait; try again");
  patterns_.first = {{Id(0), full},
                     {Id(1), full},
                     {Id(49), Error(absl::StatusCode::kAborted, reasons::kChanged, "changed")}};
  WriteExport(50);
  EXPECT_THAT(Run("import"), HasSubstr("50 new"));
  EXPECT_EQ(exit_code_, 0);
}

// Regression test: an error about one pattern ended the import as well.
TEST_F(PatternTransferTest, AnImportGoesOnBehindADamagedRowAndOneThatIsTooLarge) {
  patterns_.first = {
      {Id(3), Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt, "damaged")},
      {Id(5), Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded, "too large")}};
  WriteExport(50);
  EXPECT_THAT(Run("import"), AllOf(HasSubstr("48 new"), HasSubstr("2 refused"),
                                   HasSubstr("line 5: "), HasSubstr("line 7: ")));
  EXPECT_EQ(exit_code_, 1);
}

TEST_F(PatternTransferTest, AnImportThatPushesOthersOutSaysSo) {
  node_.patterns = 60;
  WriteExport(50);
  EXPECT_THAT(Run("import"),
              AllOf(HasSubstr("has 60 patterns and keeps at most 100"), HasSubstr("50 new")));
  node_.patterns = 50;
  EXPECT_THAT(Run("import"), Not(HasSubstr("keeps at most 100")));
}

TEST_F(PatternTransferTest, ANodeThatDoesNotTellItsCapacityTakesAnImport) {
  node_.capacity = 0;
  WriteExport(50);
  EXPECT_THAT(Run("import"), HasSubstr("50 new"));
}

// Regression test: with one damaged payload there was no export at all.
TEST_F(PatternTransferTest, AnExportLeavesOutWhatIsDamagedAndWaitsForABusyNode) {
  patterns_.first = {
      {Id(0), Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt, "damaged")},
      {Id(1), Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull, "busy")}};
  EXPECT_THAT(Run("export"), AllOf(HasSubstr("1 patterns in "),
                                   HasSubstr("1 patterns are damaged and were left out")));
  EXPECT_EQ(exit_code_, 0);
}

}  // namespace
}  // namespace ruvd::api
