// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error_details.h"
#include "base/status.h"
#include "node/openai/api_error.h"
#include "node/openai/limits.h"
#include "node/openai/reasons.h"

namespace ruvd::openai {
namespace {

using ::testing::HasSubstr;

absl::Status Refusal(const std::string& text) {
  const absl::Status status = ReadJson(text).status();
  EXPECT_EQ(ReasonOf(status), reasons::kJsonInvalid) << text.substr(0, 60);
  return status;
}

TEST(JsonReaderTest, ReadsWhatNlohmannReads) {
  for (const char* text :
       {"{}", "[]", "null", R"({"a":[1,-2,3.5,true,null,"\u00e9\n"],"b":{"c":{}}})", "[[[]],{}]"}) {
    const auto value = ReadJson(text);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, nlohmann::json::parse(text));
  }
}

TEST(JsonReaderTest, NamesThePathOfWhatIsWrong) {
  const absl::Status broken = Refusal(R"({"messages":[{"role":"user"},{"content":x}]})");
  EXPECT_EQ(FieldOf(broken), "messages[1].content");
  EXPECT_THAT(MessageOf(broken), HasSubstr("messages[1].content"));
  EXPECT_EQ(FieldOf(Refusal(R"({"a":{"b":1,"b":2}})")), "a.b");
  EXPECT_EQ(FieldOf(Refusal(R"({"t":NaN})")), "t");
  EXPECT_THAT(MessageOf(Refusal(R"({"t":1e999})")), HasSubstr("too large"));
  EXPECT_FALSE(Refusal("").ok());
  EXPECT_FALSE(Refusal("{} {}").ok());
  EXPECT_FALSE(Refusal(R"({"a":1)").ok());
}

TEST(JsonReaderTest, TextHasToBeUtf8) {
  EXPECT_FALSE(Refusal("{\"a\":\"\xff\"}").ok());
  EXPECT_FALSE(Refusal("{\"a\":\"\xed\xa0\x80\"}").ok());
  EXPECT_FALSE(Refusal(R"({"a":"\ud800"})").ok());
}

TEST(JsonReaderTest, DepthAndNumberOfValuesAreLimited) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(ReadJson(nested(limits::kMaxJsonDepth)).ok());
  EXPECT_THAT(MessageOf(Refusal(nested(limits::kMaxJsonDepth + 1))), HasSubstr("levels"));
  EXPECT_FALSE(Refusal(nested(1000)).ok());
  std::string many = "[0";
  for (size_t i = 2; i < limits::kMaxJsonValues; ++i) {
    many += ",0";
  }
  EXPECT_TRUE(ReadJson(many + "]").ok()) << "with the list itself";
  EXPECT_THAT(MessageOf(Refusal(many + ",0]")), HasSubstr("values"));
}

}  // namespace
}  // namespace ruvd::openai
