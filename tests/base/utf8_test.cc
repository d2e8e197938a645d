// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "base/status.h"

namespace ruvd {
namespace {

TEST(Utf8Test, KnowsWhatIsWhole) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8(std::string_view("a\0b", 3)));
  EXPECT_TRUE(IsUtf8("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"));
  EXPECT_FALSE(IsUtf8("\xC3"));
  EXPECT_FALSE(IsUtf8("a\xE9z"));
  EXPECT_FALSE(IsUtf8("\xC0\x80"));          // overlong
  EXPECT_FALSE(IsUtf8("\xED\xA0\x80"));      // a surrogate
  EXPECT_FALSE(IsUtf8("\xF4\x90\x80\x80"));  // beyond Unicode
}

TEST(Utf8Test, ReplacesWhatIsNotAndKeepsTheRest) {
  EXPECT_EQ(ValidUtf8("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(ValidUtf8("a\xE9z\xC3"), "a\xEF\xBF\xBDz\xEF\xBF\xBD");
}

TEST(Utf8Test, CutsBehindACharacter) {
  const std::string text =
      "a\xE2\x82\xAC"
      "b";
  EXPECT_EQ(CutUtf8(text, 5), text);
  EXPECT_EQ(CutUtf8(text, 4), "a\xE2\x82\xAC");
  EXPECT_EQ(CutUtf8(text, 3), "a");
  EXPECT_EQ(CutUtf8(text, 2), "a");
  EXPECT_EQ(CutUtf8(text, 0), "");
}

RC_GTEST_PROP(Utf8PropertyTest, AnyBytesBecomeATextThatCanBeCutAnywhere,
              (const std::string& bytes)) {
  const std::string text = ValidUtf8(bytes);
  RC_ASSERT(IsUtf8(text));
  RC_ASSERT(IsUtf8(bytes) == (text == bytes));
  for (size_t limit = 0; limit <= text.size(); ++limit) {
    const std::string_view cut = CutUtf8(text, limit);
    RC_ASSERT(IsUtf8(cut));
    RC_ASSERT(cut.size() <= limit);
    RC_ASSERT(cut.size() + 4 > limit);
  }
}

// A message travels in protobuf strings, whatever bytes its parts came from.
TEST(Utf8Test, MessagesOfErrorsAreText) {
  const absl::Status status =
      Error(absl::StatusCode::kInternal, "X", "{}", std::string("\xC3 and \xFF"));
  EXPECT_TRUE(IsUtf8(MessageOf(status)));
  EXPECT_TRUE(IsUtf8(MessageOf(Annotate(status, "file \xFE"))));
}

}  // namespace
}  // namespace ruvd
