// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/sha256_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace ruvd {
namespace {

TEST(Sha256StreamTest, PiecesGiveTheHashOfTheWhole) {
  Sha256Stream stream;
  EXPECT_EQ(stream.Current(), Sha256(""));
  std::string all;
  for (int i = 0; i < 200; ++i) {
    const std::string piece(static_cast<size_t>(i), static_cast<char>(i));
    stream.Add(piece);
    all += piece;
    ASSERT_EQ(stream.Current(), Sha256(all));
  }
  Sha256Stream moved = std::move(stream);
  moved.Add("more");
  EXPECT_EQ(moved.Current(), Sha256(all + "more"));
}

}  // namespace
}  // namespace ruvd
