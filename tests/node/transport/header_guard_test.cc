// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/header_guard.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace ruvd::transport {
namespace {

class HeaderBlocksTest : public ::testing::Test {
 protected:
  // Reads a frame in parts; returns whether all were admitted.
  bool Read(size_t bytes, size_t part, bool is_last) {
    blocks_.Begin(this, is_last);
    for (size_t left = bytes; left > part; left -= part) {
      if (!blocks_.Admit(this, part, /*ends_frame=*/false)) {
        return false;
      }
    }
    return blocks_.Admit(this, bytes % part == 0 ? part : bytes % part, /*ends_frame=*/true);
  }

  HeaderBlocks blocks_;
};

TEST_F(HeaderBlocksTest, BlocksInPacketsAreAdmittedAndForgotten) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(Read(kMaxHeaderBlockBytes, 1460, /*is_last=*/true));
    EXPECT_EQ(blocks_.open(), 0u);
  }
  EXPECT_EQ(blocks_.refused(), 0u);
}

TEST_F(HeaderBlocksTest, FramesOfOneBlockCountTogether) {
  constexpr size_t kFrame = kMaxHeaderBlockBytes / 4;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(Read(kFrame, 1460, /*is_last=*/false));
  }
  EXPECT_EQ(blocks_.open(), 1u);
  EXPECT_EQ(blocks_.open_bytes(), kMaxHeaderBlockBytes);
  EXPECT_FALSE(Read(1, 1, /*is_last=*/true));
  EXPECT_EQ(blocks_.refused(), 1u);
}

TEST_F(HeaderBlocksTest, SmallFramesAreRefusedByWhatIsReadAgain) {
  size_t frames = 0;
  while (Read(1, 1, /*is_last=*/false)) {
    ++frames;
  }
  EXPECT_GT(frames, 1000u);
  EXPECT_LT(frames, 4000u);
}

TEST_F(HeaderBlocksTest, EmptyFramesHaveAnEnd) {
  size_t frames = 0;
  blocks_.Begin(this, /*is_last=*/false);
  while (blocks_.Admit(this, 0, /*ends_frame=*/true)) {
    ++frames;
  }
  EXPECT_EQ(frames, kMaxHeaderBlockReads / kLeastHeaderPart);
}

TEST_F(HeaderBlocksTest, AnEndedConnectionIsForgotten) {
  EXPECT_TRUE(Read(kMaxHeaderBlockBytes, 1460, /*is_last=*/false));
  blocks_.Forget(this);
  EXPECT_EQ(blocks_.open(), 0u);
  EXPECT_TRUE(Read(kMaxHeaderBlockBytes, 1460, /*is_last=*/false));
}

}  // namespace
}  // namespace ruvd::transport
