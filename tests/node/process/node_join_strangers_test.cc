// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Strangers who begin to join, and keep no one else from it.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "node/admission/link_tls.h"
#include "node/transport/tls.h"
#include "ruvd/admission/v1/admission.grpc.pb.h"
#include "tests/node/process/node_join_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::HasSubstr;

// Found by a hostile review: 16 silent calls kept every node from joining and from renewing its
// certificate.
TEST_F(NodeJoinTest, SilentJoinsKeepNobodyOut) {
  Start();
  const std::string token = Token();
  const auto tls = transport::MakeSelfSignedCertificate().value();
  struct SilentJoin {
    grpc::ClientContext context;
    std::unique_ptr<
        grpc::ClientReaderWriter<admission::v1::JoinRequest, admission::v1::JoinResponse>>
        stream;
  };
  std::vector<std::unique_ptr<admission::v1::AdmissionService::Stub>> stubs;
  std::vector<std::unique_ptr<SilentJoin>> silent;
  for (int i = 0; i < 24; ++i) {  // over 4 connections
    if (i % 6 == 0) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      arguments.SetSslTargetNameOverride(transport::kSelfSignedName);
      stubs.push_back(admission::v1::AdmissionService::NewStub(grpc::CreateCustomChannel(
          node_->federation_address(), admission::LinkCredentials(tls), arguments)));
    }
    auto join = std::make_unique<SilentJoin>();
    join->stream = stubs.back()->Join(&join->context);
    join->stream->WaitForInitialMetadata();
    silent.push_back(std::move(join));
  }
  EXPECT_THAT(Join("b", token), HasSubstr("next: ruvd serve"));
  for (const auto& join : silent) {
    join->context.TryCancel();
    (void)join->stream->Finish();
  }
}

}  // namespace
}  // namespace ruvd::node
