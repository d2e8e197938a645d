// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "node/api/pattern_feed.h"
#include "node/api/rpc_status.h"
#include "node/api/server.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "tests/node/database_fixture.h"

namespace ruvd {

inline constexpr uint32_t kDimension = 4;
inline constexpr size_t kStreams = 3;

// ruvd.pattern.v1 over a store of four values, without a model.
class PatternServiceTest : public DatabaseTest {
 protected:
  using Stub = pattern::v1::PatternService::Stub;
  using Stream = std::unique_ptr<grpc::ClientReader<pattern::v1::WatchPatternsResponse>>;

  void SetUp() override {
    DatabaseTest::SetUp();
    Open();
  }
  void TearDown() override { Close(); }
  void Open() {
    patterns_ =
        storage::PatternStore::Open(*database_, {.dimension = kDimension,
                                                 .model_hash = package_,
                                                 .durability = storage::Durability::kProcessCrash})
            .value();
    feed_ =
        std::make_unique<api::PatternFeed>(api::PatternFeed::Options{.patterns = patterns_.get(),
                                                                     .executor = &pool_,
                                                                     .max_streams = kStreams,
                                                                     .page = 7,
                                                                     .log_id = 77});
    api::ServiceDependencies dependencies;
    dependencies.clock = &clock_;
    dependencies.package_id = package_;
    dependencies.self = self_;
    dependencies.patterns = patterns_.get();
    dependencies.pattern_feed = feed_.get();
    dependencies.pattern_calls = calls_;
    dependencies.inference = inference_;
    service_ = api::MakePatternService(dependencies);
    server_ = Serve(*service_);
    stub_ = pattern::v1::PatternService::NewStub(
        grpc::CreateChannel(server_.address, grpc::InsecureChannelCredentials()));
  }
  virtual api::RunningServer Serve(grpc::Service& service) {
    return api::StartServer({.listen = "127.0.0.1:0",
                             .max_message_bytes = limits::kMaxApiMessageBytes,
                             .services = {&service}})
        .value();
  }
  void Close() {
    feed_->Close();
    server_.Shutdown(std::chrono::system_clock::time_point::max());
    server_ = {};
    service_.reset();
    feed_.reset();
    patterns_.reset();
  }

  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    return api::FromRpcStatus((*stub_.*method)(&context, request, response));
  }
  absl::StatusOr<pattern::v1::UpsertPatternResponse> Upsert(
      const pattern::v1::UpsertPatternRequest& request) {
    pattern::v1::UpsertPatternResponse response;
    RETURN_IF_ERROR(Call(&Stub::UpsertPattern, request, &response));
    return response;
  }
  static pattern::v1::UpsertPatternRequest Some(float x = 1, const std::string& id = "") {
    pattern::v1::UpsertPatternRequest request;
    request.mutable_pattern()->set_id(id);
    for (const float value : {x, 1.0F, 0.0F, 0.0F}) {
      request.mutable_pattern()->mutable_embedding()->add_values(value);
    }
    return request;
  }
  static std::string Id(uint64_t n) { return fmt::format("{:032x}", n); }
  void Put(uint64_t n) { ASSERT_TRUE(Upsert(Some(static_cast<float>(n), Id(n))).ok()); }
  absl::Status Delete(uint64_t n) {
    pattern::v1::DeletePatternRequest request;
    request.set_id(Id(n));
    pattern::v1::DeletePatternResponse response;
    return Call(&Stub::DeletePattern, request, &response);
  }
  Stream Watch(grpc::ClientContext* context, std::optional<uint64_t> after = {}) {
    pattern::v1::WatchPatternsRequest request;
    if (after) {
      request.set_after_sequence(*after);
    }
    return stub_->WatchPatterns(context, request);
  }
  static pattern::v1::WatchPatternsResponse Next(const Stream& stream) {
    pattern::v1::WatchPatternsResponse event;
    EXPECT_TRUE(stream->Read(&event));
    return event;
  }
  // Returns the error of a stream that has ended.
  static absl::Status EndOf(const Stream& stream) {
    pattern::v1::WatchPatternsResponse event;
    EXPECT_FALSE(stream->Read(&event)) << event.ShortDebugString();
    return api::FromRpcStatus(stream->Finish());
  }

  const Digest package_ = Sha256("package");
  const privacy::NodeId self_ = Sha256("self");
  ThreadPool pool_{{.name = "queries", .threads = 2}};
  Executor* calls_ = &pool_;                      // for every call but a watch
  serving::InferenceActor* inference_ = nullptr;  // for searches by text
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<api::PatternFeed> feed_;
  std::unique_ptr<grpc::Service> service_;
  api::RunningServer server_;
  std::unique_ptr<Stub> stub_;
};

}  // namespace ruvd
