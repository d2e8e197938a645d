// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests models of other architectures in a whole node.

#include <gtest/gtest.h>

#include "tests/inference/model_file.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

class NodeArchitecturesTest : public NodeTest {
 protected:
  void Serve(const test::FileContents& contents) {
    config_.model.path = folder_ / "model.gguf";
    ASSERT_TRUE(WriteFileAtomically(config_.model.path, contents.Serialize()).ok());
    Start();
  }
};

// Found by review: the embedding of the prompt required attention in both directions, which such a
// model refuses.
TEST_F(NodeArchitecturesTest, AModelWithASlidingWindowIsServed) {
  test::FileContents contents;
  contents.architecture = "qwen2";
  contents.numbers["attention.sliding_window"] = 5;
  Serve(contents);
  const Completion completion = Generate(Request("abababababba", 8));
  EXPECT_TRUE(completion.status.ok()) << completion.status;
  EXPECT_GE(completion.finished.steps(), 1U);
  EXPECT_TRUE(Embed({"abba"}).ok());
}

// Found by review: a score without a mode was that of diffusion, whichever mode the model is best
// at.
TEST_F(NodeArchitecturesTest, AScoreWithoutAModeIsThatOfTheModelsBest) {
  Start();
  const auto score = [&](inference::v1::DecodingMode mode) {
    inference::v1::ScoreRequest request;
    request.set_prompt("The old man walked");
    // The text is longer than a block: within one block both readings are the same.
    request.set_completion(
        " to the sea in the morning, and when the boats came back he stood at the harbour wall and "
        "counted them one after the other until it was dark.");
    request.set_mode(mode);
    request.set_samples(4);
    inference::v1::ScoreResponse response;
    grpc::ClientContext context;
    const auto status =
        inference::v1::InferenceService::NewStub(channel_)->Score(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.nats_per_token();
  };
  const double unspecified = score(inference::v1::DECODING_MODE_UNSPECIFIED);
  EXPECT_EQ(unspecified, score(inference::v1::DECODING_MODE_BLOCK));
  EXPECT_NE(unspecified, score(inference::v1::DECODING_MODE_DIFFUSION));
}

TEST_F(NodeArchitecturesTest, ABidirectionalModelDoesNotDecodeTokenByToken) {
  test::FileContents contents;
  contents.architecture = "qwen2";
  contents.flags["qwen2.attention.causal"] = false;
  Serve(contents);
  EXPECT_EQ(ReasonOf(Generate(Request("ab", 8)).status), reasons::kModeUnsupported);
  EXPECT_TRUE(Embed({"ab"}).ok());
}

}  // namespace
}  // namespace ruvd::node
