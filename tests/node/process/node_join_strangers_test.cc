// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Nodes that begin to join, and keep no one else from it.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "node/admission/link_tls.h"
#include "node/transport/tls.h"
#include "ruvd/admission/v1/admission.grpc.pb.h"
#include "ruvd/federation/v1/federation.grpc.pb.h"
#include "tests/node/link_party.h"
#include "tests/node/process/node_join_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::HasSubstr;

// Found by a hostile review: 16 silent calls kept every node from joining and from renewing its
// certificate.
TEST_F(NodeJoinTest, SilentJoinsKeepNobodyOut) {
  Start();
  const std::string token = Token();
  const test::Member member(Authority());  // strangers get no call through
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
      stubs.push_back(
          admission::v1::AdmissionService::NewStub(member.ChannelTo(node_->federation_address())));
    }
    auto join = std::make_unique<SilentJoin>();
    join->stream = stubs.back()->Join(&join->context);
    join->stream->WaitForInitialMetadata();
    silent.push_back(std::move(join));
  }
  EXPECT_THAT(Join("b", token), HasSubstr("next: ruvd serve"));
  EXPECT_EQ(Limit("joins_of_connection").refused(), 20u);
  EXPECT_EQ(Limit("joins_silent").used(), 4u);
  for (const auto& join : silent) {
    join->context.TryCancel();
    (void)join->stream->Finish();
  }
}

// A token opens the gate of the authority's node for joining, and for nothing else.
TEST_F(NodeJoinTest, ATokenOpensNoLink) {
  Start();
  const privacy::JoinInvitation invitation = privacy::JoinInvitation::Parse(Token()).value();
  const test::Member member(Authority());
  const auto stub = federation::v1::FederationService::NewStub(member.ChannelWith(
      admission::MakeApplicantTls(invitation).value(), node_->federation_address()));
  grpc::ClientContext context;
  const auto stream = stub->Link(&context);
  federation::v1::WireFrame answer;
  EXPECT_FALSE(stream->Read(&answer));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
  EXPECT_THAT(status.error_message(),
              HasSubstr("neither a join token nor a key that was replaced opens links"));
}

// Strangers get nothing through, so that they cannot even begin to join.
TEST_F(NodeJoinTest, AStrangerBeginsNoJoin) {
  Start();
  const test::Member member(Authority());
  const auto stub = admission::v1::AdmissionService::NewStub(member.ChannelWith(
      transport::MakeSelfSignedCertificate().value(), node_->federation_address()));
  grpc::ClientContext context;
  const auto stream = stub->Join(&context);
  admission::v1::JoinResponse answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(AwaitRefusedAtTheGate(*node_, reasons::kCertificateInvalid));
}

}  // namespace
}  // namespace ruvd::node
