// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The frames of a completion for readers that lag.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "node/limits.h"
#include "tests/node/node_fixture.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {
namespace {

class NodeFramesTest : public NodeTest {
 protected:
  // Begins to take nothing from the node before Read, so that what it sends must wait there.
  std::shared_ptr<grpc::Channel> SlowChannel() {
    grpc::ChannelArguments slow;
    slow.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1);
    slow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return grpc::CreateCustomChannel(node_->api_address(), grpc::InsecureChannelCredentials(),
                                     slow);
  }
};

// Frames that a slow reader could not take were dropped, so that the tokens in them were never
// shown.
TEST_F(NodeFramesTest, DroppedFramesAreMerged) {
  Start();
  auto request = Request("A long story about", 200);
  request.mutable_sampling()->set_ignore_end_of_text(true);
  request.mutable_sampling()->set_steps(200);
  request.set_stream_frames(true);
  grpc::ClientContext context;
  auto stub = inference::v1::InferenceService::NewStub(SlowChannel());
  auto reader = stub->Generate(&context, request);
  ASSERT_TRUE(test::WaitUntil([&] { return Status().store().trajectories() == 1; }));

  std::map<uint32_t, std::string> shown;
  size_t frames = 0;
  inference::v1::Started started;
  inference::v1::Finished finished;
  inference::v1::GenerateResponse response;
  while (reader->Read(&response)) {
    if (response.has_started()) {
      started = response.started();
    } else if (response.has_finished()) {
      finished = response.finished();
    } else if (response.has_denoise_frame()) {
      ++frames;
      for (const inference::v1::Commit& commit : response.denoise_frame().commits()) {
        shown[commit.position()] = commit.text();
      }
      for (const uint32_t position : response.denoise_frame().remasked()) {
        shown.erase(position);
      }
    }
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(shown.size(), started.window());
  EXPECT_GT(frames, limits::kMaxPendingFrames / 2);
  EXPECT_LT(frames, finished.steps()) << "the reader was not slow, so the test shows nothing";
}

}  // namespace
}  // namespace ruvd::node
