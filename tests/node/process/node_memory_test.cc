// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests keys and values of a running node.

#include <gmock/gmock.h>

#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using NodeMemoryTest = NodeTest;

TEST_F(NodeMemoryTest, CompletionsDidNotShareTheNodesKeysAndValues) {
  Start();
  auto request = Request("Once upon a time there was a small house near the sea, and in it", 8);
  request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_AUTOREGRESSIVE);
  const Completion first = Generate(request);
  const Completion second = Generate(request);
  ASSERT_TRUE(second.status.ok()) << second.status;
  EXPECT_EQ(first.text, second.text);
  EXPECT_EQ(second.finished.forwards(), first.finished.forwards() - 1);  // none for the prompt
}

TEST_F(NodeMemoryTest, ATextThatCanNeverFitIntoMemoryIsRefusedWithTheNumbers) {
  config_.inference.kv_format = "f32";
  config_.inference.kv_bytes = 1 << 20;
  Start();
  auto request = Request("Once", 500);
  request.mutable_sampling()->set_mode(inference::v1::DECODING_MODE_AUTOREGRESSIVE);
  const absl::Status status = Generate(request).status;
  EXPECT_EQ(ReasonOf(status), reasons::kKvBudgetExceeded);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(status),
              AllOf(HasSubstr("pages of 16 tokens"), HasSubstr("inference.kv_bytes")));
}

}  // namespace
}  // namespace ruvd::node
