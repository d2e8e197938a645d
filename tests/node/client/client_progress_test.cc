// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Calls that stream how far they are, and last a result.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/reasons.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "tests/node/client/test_server.h"

namespace ruvd::client {
namespace {

using learning::v1::BackgroundProgress;
using learning::v1::DeepProgress;
using learning::v1::RunBackgroundRequest;
using learning::v1::RunBackgroundResponse;
using learning::v1::RunDeepRequest;
using learning::v1::RunDeepResponse;
using node::v1::BackUpProgress;
using node::v1::BackUpStoreRequest;
using node::v1::BackUpStoreResponse;
using ::testing::ElementsAre;

// Whether a stream has its last message.
enum class End : bool { kCut, kWhole };

class Rounds final : public learning::v1::LearningService::Service {
 public:
  explicit Rounds(End end) : end_(end) {}
  grpc::Status RunDeep(grpc::ServerContext*, const RunDeepRequest*,
                       grpc::ServerWriter<RunDeepResponse>* writer) override {
    for (const uint64_t step : {1, 2}) {
      RunDeepResponse event;
      event.mutable_progress()->set_step(step);
      writer->Write(event);
    }
    RunDeepResponse last;
    last.mutable_result()->set_version(7);
    if (end_ == End::kWhole) {
      writer->Write(last);
    }
    return grpc::Status::OK;
  }
  grpc::Status RunBackground(grpc::ServerContext*, const RunBackgroundRequest* request,
                             grpc::ServerWriter<RunBackgroundResponse>* writer) override {
    if (request->replay()) {
      return ErrorWithReason(grpc::StatusCode::FAILED_PRECONDITION, reasons::kLearningPaused);
    }
    RunBackgroundResponse event;
    event.mutable_progress()->set_lessons_waiting(3);
    writer->Write(event);
    event.mutable_result()->set_patterns_kept(2);
    if (end_ == End::kWhole) {
      writer->Write(event);
    }
    return grpc::Status::OK;
  }

 private:
  const End end_;
};

class Backups final : public node::v1::StoreService::Service {
 public:
  explicit Backups(End end) : end_(end) {}
  grpc::Status BackUpStore(grpc::ServerContext*, const BackUpStoreRequest* request,
                           grpc::ServerWriter<BackUpStoreResponse>* writer) override {
    BackUpStoreResponse event;
    event.mutable_progress()->set_total_files(9);
    writer->Write(event);
    event.mutable_result()->set_folder(request->name());
    if (end_ == End::kWhole) {
      writer->Write(event);
    }
    return grpc::Status::OK;
  }

 private:
  const End end_;
};

TEST(ClientProgressTest, ADeepRoundTellsItsStepsAndItsResult) {
  Rounds service(End::kWhole);
  TestServer server({&service});
  std::vector<uint64_t> steps;
  const auto result = server.client().RunDeep(
      RunDeepRequest(),
      [&steps](const DeepProgress& progress) { steps.push_back(progress.step()); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->version(), 7U);
  EXPECT_THAT(steps, ElementsAre(1U, 2U));
}

TEST(ClientProgressTest, ABackgroundRoundTellsItsLessonsAndItsResult) {
  Rounds service(End::kWhole);
  TestServer server({&service});
  std::vector<uint32_t> waiting;
  const auto result = server.client().RunBackground(RunBackgroundRequest(),
                                                    [&waiting](const BackgroundProgress& progress) {
                                                      waiting.push_back(progress.lessons_waiting());
                                                    });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->patterns_kept(), 2U);
  EXPECT_THAT(waiting, ElementsAre(3U));
}

TEST(ClientProgressTest, ABackupTellsItsFilesAndItsResult) {
  Backups service(End::kWhole);
  TestServer server({&service});
  BackUpStoreRequest request;
  request.set_name("monday");
  std::vector<uint64_t> totals;
  const auto result = server.client().BackUpStore(
      request,
      [&totals](const BackUpProgress& progress) { totals.push_back(progress.total_files()); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->folder(), "monday");
  EXPECT_THAT(totals, ElementsAre(9U));
}

TEST(ClientProgressTest, ACallerNeedNotListen) {
  Rounds rounds(End::kWhole);
  Backups backups(End::kWhole);
  TestServer server({&rounds, &backups});
  EXPECT_TRUE(server.client().RunDeep(RunDeepRequest()).ok());
  EXPECT_TRUE(server.client().RunBackground(RunBackgroundRequest()).ok());
  EXPECT_TRUE(server.client().BackUpStore(BackUpStoreRequest()).ok());
}

TEST(ClientProgressTest, AStreamWithoutAResultIsAnError) {
  Rounds rounds(End::kCut);
  Backups backups(End::kCut);
  TestServer server({&rounds, &backups});
  EXPECT_TRUE(absl::IsDataLoss(server.client().RunDeep(RunDeepRequest()).status()));
  EXPECT_TRUE(absl::IsDataLoss(server.client().RunBackground(RunBackgroundRequest()).status()));
  EXPECT_TRUE(absl::IsDataLoss(server.client().BackUpStore(BackUpStoreRequest()).status()));
}

TEST(ClientProgressTest, AnErrorOfTheNodeKeepsItsReason) {
  Rounds service(End::kWhole);
  TestServer server({&service});
  RunBackgroundRequest request;
  request.set_replay(true);
  EXPECT_EQ(ReasonOf(server.client().RunBackground(request).status()), reasons::kLearningPaused);
}

TEST(ClientProgressTest, ATextThatCannotBeSentIsRefused) {
  Backups service(End::kWhole);
  TestServer server({&service});
  BackUpStoreRequest request;
  request.set_name("\xFF");
  EXPECT_EQ(ReasonOf(server.client().BackUpStore(request).status()), reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::client
