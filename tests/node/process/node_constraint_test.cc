// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests completions of a whole node that are held to a schema, an expression or a grammar.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "node/program/program.h"
#include "node/terminal/command.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

using inference::v1::GenerateRequest;
using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class NodeConstraintTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    Start();
  }
  // Returns the completion of a request in a mode; it must end by itself.
  std::string Written(GenerateRequest request, inference::v1::DecodingMode mode, uint64_t seed) {
    request.mutable_sampling()->set_mode(mode);
    request.mutable_sampling()->set_temperature(1);
    request.mutable_sampling()->set_seed(seed);
    const Completion completion = Generate(request);
    EXPECT_TRUE(completion.status.ok()) << completion.status;
    EXPECT_EQ(completion.finished.reason(), inference::v1::FINISH_REASON_END_OF_TEXT)
        << completion.text;
    return completion.text;
  }
  static GenerateRequest Prompt(uint32_t tokens) { return Request("The old man", tokens); }

  static constexpr inference::v1::DecodingMode kModes[] = {
      inference::v1::DECODING_MODE_DIFFUSION, inference::v1::DECODING_MODE_BLOCK,
      inference::v1::DECODING_MODE_AUTOREGRESSIVE};
};

TEST_F(NodeConstraintTest, EveryModeKeepsToASchema) {
  GenerateRequest request = Prompt(96);
  request.set_json_schema(R"({"type": "object", "required": ["kind", "tags", "n"],
      "properties": {"kind": {"enum": ["sea", "land"]},
                     "tags": {"type": "array", "items": {"type": "string", "maxLength": 5},
                              "maxItems": 2},
                     "n": {"type": ["integer", "null"]}}})");
  for (const inference::v1::DecodingMode mode : kModes) {
    for (const uint64_t seed : {1, 2}) {
      const json value = json::parse(Written(request, mode, seed));
      EXPECT_THAT(std::string(value["kind"]), AnyOf("sea", "land"));
      EXPECT_LE(value["tags"].size(), 2U);
      EXPECT_TRUE(value["n"].is_number_integer() || value["n"].is_null()) << value;
    }
  }
}

TEST_F(NodeConstraintTest, ExpressionsGrammarsAndChoicesHoldToo) {
  for (const inference::v1::DecodingMode mode : kModes) {
    GenerateRequest regex = Prompt(48);
    regex.set_regex("[A-Z][a-z]{2,6} (came|went) [0-9]{1,2} times\\.");
    const std::string sentence = Written(regex, mode, 3);
    EXPECT_TRUE(
        std::regex_match(sentence, std::regex("[A-Z][a-z]{2,6} (came|went) [0-9]{1,2} times\\.")))
        << sentence;

    GenerateRequest choice = Prompt(16);
    choice.mutable_choices()->add_texts("yes");
    choice.mutable_choices()->add_texts("no");
    EXPECT_THAT(Written(choice, mode, 4), AnyOf("yes", "no"));

    GenerateRequest grammar = Prompt(32);
    grammar.set_gbnf("root ::= (\"- \" [a-z]{1,4} \"\\n\"){1,2}");
    EXPECT_TRUE(std::regex_match(Written(grammar, mode, 5), std::regex("(- [a-z]{1,4}\n){1,2}")));
  }
  GenerateRequest object = Prompt(12);
  object.set_json_object(true);
  object.mutable_sampling()->set_temperature(1);
  EXPECT_EQ(Generate(object).text.substr(0, 1).find_first_not_of("{ \n\t\r"), std::string::npos);
}

TEST_F(NodeConstraintTest, TheCommandLineHoldsToItsFlags) {
  std::ostringstream out;
  cli::CommandContext context{.out = out, .err = out, .environment = {{"HOME", folder_}}};
  EXPECT_EQ(RunProgram({"run", "The old man came", "--choice", " by boat", "--choice", " on foot",
                        "--quiet", "--server", node_->api_address()},
                       context),
            0);
  EXPECT_THAT(out.str(), AnyOf(HasSubstr("by boat"), HasSubstr("on foot")));
  EXPECT_NE(
      RunProgram({"run", "x", "--json", "--regex", "a", "--server", node_->api_address()}, context),
      0)
      << "one of them only";
}

TEST_F(NodeConstraintTest, WhatCannotBeHeldToIsRefusedBeforeATokenIsComputed) {
  const auto refusal = [&](const GenerateRequest& request) {
    const absl::Status status = Generate(request).status;
    EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument) << status;
    return std::string(MessageOf(status));
  };
  GenerateRequest request = Prompt(8);
  request.set_json_schema(R"({"properties": {"a": {"multipleOf": 3}}})");
  EXPECT_THAT(refusal(request), HasSubstr("multipleOf"));
  request.set_regex("(?=a)b");
  EXPECT_THAT(refusal(request), HasSubstr("look-ahead"));
  request.set_gbnf("root ::= missing");
  EXPECT_THAT(refusal(request), HasSubstr("missing"));
  request.mutable_choices();
  EXPECT_THAT(refusal(request), HasSubstr("choices"));
  request.set_json_object(false);
  EXPECT_THAT(refusal(request), HasSubstr("json_object"));
  request.set_json_object(true);
  request.mutable_sampling()->set_steps(3);
  EXPECT_THAT(refusal(request), HasSubstr("steps"));
  GenerateRequest infilling = Infilling("The", 8, " end");
  infilling.set_json_object(true);
  EXPECT_THAT(refusal(infilling), HasSubstr("gaps"));
  EXPECT_EQ(Status().store().trajectories(), 0U);
}

}  // namespace
}  // namespace ruvd::node
