// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a peer with another adapter frame is told.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/reasons.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(FrameMismatch, BothFramesAreNamed) {
  CoreUnderTest target;
  TestPeer peer(target, 1, 7, [](federation::LocalNode& n) { n.frame_id.fill(9); });
  const Answers answers = peer.Dial();
  const WireFrame* goaway = answers.Find(WireFrame::kGoaway);
  ASSERT_NE(goaway, nullptr);
  EXPECT_THAT(goaway->goaway().message(),
              AllOf(HasSubstr("uses adapter frame 2222222222222222,"),
                    HasSubstr("the peer frame 0909090909090909;"), HasSubstr(".frame.gguf")));
}

TEST(FrameMismatch, AnIdOfAnyLengthIsRefusedAndCutInTheMessage) {
  CoreUnderTest target;
  TestPeer peer(target, 1, 7);
  WireFrame hello = peer.Hello();
  hello.mutable_hello()->mutable_introduction()->set_frame_id(std::string(4000, 'x'));
  target.core().OnLinkOpened(7, "", target.now());
  const Answers answers = peer.Send(hello);
  EXPECT_EQ(answers.closed, reasons::kFrameMismatch);
  const WireFrame* goaway = answers.Find(WireFrame::kGoaway);
  ASSERT_NE(goaway, nullptr);
  EXPECT_THAT(goaway->goaway().message(), HasSubstr("the peer frame 7878787878787878;"));
}

}  // namespace
}  // namespace ruvd::test
