// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/lesson_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace ruvd::learning {
namespace {

constexpr inference::TokenId kStart = 900;
constexpr inference::TokenId kEnd = 901;

bool IsControl(inference::TokenId token) {
  return token >= kStart;
}

void Append(std::vector<inference::TokenId>* tokens, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    tokens->push_back(static_cast<inference::TokenId>(i));
  }
}

// A conversation comes again with every message; only the last one of it is new.
TEST(NewPartTest, TheLastMessageIsNew) {
  std::vector<inference::TokenId> tokens;
  const auto say = [&](size_t length) {
    tokens.push_back(kStart);
    Append(&tokens, length);
    tokens.push_back(kEnd);
    Append(&tokens, 1);  // the line feed between two messages
  };
  say(30);
  say(20);
  say(12);
  const size_t end = tokens.size() - 2;
  tokens.push_back(kStart);
  Append(&tokens, 2);  // the name of who writes next
  EXPECT_EQ(NewPartOf(tokens, IsControl), (NewPart{end - 12, end}));
}

TEST(NewPartTest, AFormatWithoutControlTokensIsNewAsAWhole) {
  std::vector<inference::TokenId> tokens;
  Append(&tokens, 40);
  EXPECT_EQ(NewPartOf(tokens, IsControl), (NewPart{0, 40}));
}

TEST(NewPartTest, TheFirstMessageMayHaveNothingBeforeIt) {
  std::vector<inference::TokenId> tokens;
  Append(&tokens, 40);
  tokens.push_back(kEnd);
  EXPECT_EQ(NewPartOf(tokens, IsControl), (NewPart{0, 40}));
}

TEST(NewPartTest, ShortMessagesAreTooShort) {
  for (const size_t length : {0U, 1U, 7U}) {
    std::vector<inference::TokenId> tokens;
    Append(&tokens, length);
    EXPECT_EQ(NewPartOf(tokens, IsControl), (NewPart{length, length}));
    tokens.insert(tokens.begin(), kStart);
    EXPECT_EQ(NewPartOf(tokens, IsControl), (NewPart{length + 1, length + 1}));
  }
}

}  // namespace
}  // namespace ruvd::learning
