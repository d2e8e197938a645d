// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests completions that are held to a grammar.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/constrain/choices.h"
#include "inference/constrain/constrained_text.h"
#include "inference/constrain/gbnf.h"
#include "inference/constrain/json_schema.h"
#include "inference/constrain/limits.h"
#include "inference/constrain/regex.h"
#include "inference/engine/generation.h"
#include "inference/reasons.h"
#include "inference/sampler/distribution.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/finished_generation.h"
#include "tests/inference/text_model.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;
using Expression = GrammarBuilder::Expression;

// Returns the grammar of {"n": DIGITS} with one to three digits and any number of spaces.
std::shared_ptr<const Grammar> NumberObject() {
  GrammarBuilder builder;
  const Expression spaces = builder.Repeat(builder.Literal(" "), 0, GrammarBuilder::kUnbounded);
  const std::vector<Expression> parts = {builder.Literal("{"),
                                         spaces,
                                         builder.Literal("\"n\":"),
                                         spaces,
                                         builder.Repeat(builder.Byte('0', '9'), 1, 3),
                                         builder.Literal("}")};
  return builder.Build(builder.Sequence(parts)).value();
}

std::shared_ptr<const TextConstraint> ConstraintOf(const Model& model,
                                                   std::shared_ptr<const Grammar> grammar) {
  return std::make_shared<TextConstraint>(
      TextConstraint{.grammar = std::move(grammar), .tokens = TokenTrie::Build(model.tokenizer())});
}

absl::StatusOr<test::FinishedGeneration> Complete(const std::shared_ptr<const Model>& model,
                                                  const SamplingOptions& options) {
  CpuTransformer transformer(model, SerialRunner());
  ASSIGN_OR_RETURN(
      const auto generation,
      Generation::Create(*model, model->tokenizer().EncodePrompt("count:"), options, nullptr));
  return test::RunToEnd(*generation, transformer);
}

// Whether some text of the grammar begins so.
bool Begins(const std::shared_ptr<const Grammar>& grammar, const std::string& text) {
  Automaton automaton(grammar);
  Automaton::State state = automaton.start();
  for (const char byte : text) {
    state = automaton.Next(state, static_cast<uint8_t>(byte));
  }
  return state != Automaton::kDead;
}

TEST(ConstrainedGenerationTest, EveryModeWritesTextsOfTheGrammar) {
  const auto model = test::TinyTextModel();
  const auto grammar = NumberObject();
  SamplingOptions options{.max_tokens = 24, .constraint = ConstraintOf(*model, grammar)};
  options.block_length = 0;
  int ended = 0;
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    options.mode = mode;
    options.block_length = mode == DecodingMode::kBlock ? 8 : 0;
    for (const float temperature : {0.0F, 1.0F, 4.0F}) {
      options.temperature = temperature;
      for (options.seed = 0; options.seed < 4; ++options.seed) {
        const auto finished = Complete(model, options);
        ASSERT_TRUE(finished.ok()) << finished.status();
        EXPECT_TRUE(Begins(grammar, finished->text)) << finished->text;
        if (finished->reason == FinishReason::kEndOfText) {
          EXPECT_TRUE(Matches(grammar, finished->text)) << finished->text;
          ++ended;
        } else {
          EXPECT_EQ(finished->text.size(), 24U) << finished->text;
        }
      }
    }
  }
  EXPECT_GT(ended, 12);
}

// Guidance and penalties change which of the allowed tokens is chosen, and nothing else.
TEST(ConstrainedGenerationTest, OtherOptionsKeepToTheGrammar) {
  const auto model = test::TinyTextModel();
  const auto grammar = GrammarOfChoices(std::vector<std::string>{"left", "right"}).value();
  SamplingOptions options{.mode = DecodingMode::kDiffusion,
                          .max_tokens = 12,
                          .constraint = ConstraintOf(*model, grammar)};
  options.temperature = 1;
  options.top_k = 3;
  options.top_p = 0.9F;
  options.min_p = 0.01F;
  options.repetition_penalty = 1.5F;
  options.guidance_scale = 2;
  options.logprobs = 2;
  std::vector<std::string> seen;
  for (options.seed = 0; options.seed < 20; ++options.seed) {
    const auto finished = Complete(model, options);
    ASSERT_TRUE(finished.ok()) << finished.status();
    EXPECT_TRUE(Matches(grammar, finished->text)) << finished->text;
    seen.push_back(finished->text);
  }
  EXPECT_THAT(seen, ::testing::Contains("left"));
  EXPECT_THAT(seen, ::testing::Contains("right"));
}

TEST(ConstrainedGenerationTest, WhatContradictsItIsRefused) {
  const auto model = test::TinyTextModel();
  const auto refused = [&](auto change, const std::string& word) {
    SamplingOptions options{.mode = DecodingMode::kDiffusion,
                            .constraint = ConstraintOf(*model, NumberObject())};
    change(options);
    const absl::Status status = Complete(model, options).status();
    EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument) << word;
    EXPECT_THAT(MessageOf(status), HasSubstr(word));
  };
  refused([](SamplingOptions& options) { options.steps = 4; }, "steps");
  refused([](SamplingOptions& options) { options.sampler = SamplerKind::kMargin; }, "sampler");
  refused([](SamplingOptions& options) { options.confidence_threshold = 0.5F; }, "confidence");
  refused([](SamplingOptions& options) { options.ignore_end_of_text = true; }, "ignore_end");
  refused([](SamplingOptions& options) { options.no_repeat_ngram = 2; }, "no_repeat_ngram");
  refused([](SamplingOptions& options) { options.stop = {"}"}; }, "stop");
  refused([](SamplingOptions& options) { options.approximate_cache_steps = 4; }, "approximate");
  SamplingOptions options{.constraint = ConstraintOf(*model, NumberObject())};
  const std::vector<TokenId> canvas = {65, kNoToken, kNoToken, 66};
  EXPECT_THAT(MessageOf(Generation::CreateInfill(*model, canvas, options, nullptr).status()),
              HasSubstr("gaps"));
}

class MaskTest : public ::testing::Test {
 protected:
  const std::shared_ptr<const Model> model_ =
      Model::Load(test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf").value();
  const Tokenizer& tokenizer_ = model_->tokenizer();
  const TokenId end_ = tokenizer_.eos_id().value();
};

TEST_F(MaskTest, ItAllowsTheTokensThatGoOnAndNoOther) {
  const auto grammar =
      GrammarOfChoices(std::vector<std::string>{"the boat", "the boats", " a house", "ä"}).value();
  ConstrainedText text(ConstraintOf(*model_, grammar), {end_});
  Automaton automaton(grammar);
  Automaton::State state = automaton.start();
  for (const TokenId written : tokenizer_.EncodeContinuation("the boat")) {
    std::vector<float> logits(tokenizer_.size(), 1);
    ASSERT_TRUE(text.Mask(logits).ok());
    for (size_t i = 0; i < tokenizer_.size(); ++i) {
      const auto token = static_cast<TokenId>(i);
      Automaton::State next = state;
      for (const char byte : tokenizer_.Piece(token)) {
        next = automaton.Next(next, static_cast<uint8_t>(byte));
      }
      const bool allowed = !tokenizer_.IsSpecial(token) && !tokenizer_.Piece(token).empty() &&
                           next != Automaton::kDead;
      ASSERT_EQ(logits[i] == 1, allowed) << i << " " << tokenizer_.Piece(token);
      ASSERT_TRUE(allowed || logits[i] == kForbidden);
    }
    text.Add(written);
    for (const char byte : tokenizer_.Piece(written)) {
      state = automaton.Next(state, static_cast<uint8_t>(byte));
    }
  }
  std::vector<float> logits(tokenizer_.size(), 1);
  ASSERT_TRUE(text.Mask(logits).ok());
  EXPECT_EQ(logits[end_], 1) << "the text may end here";
  EXPECT_EQ(std::count(logits.begin(), logits.end(), 1.0F), 2) << "or go on with an s";
}

// Found by review: what is made to be slow kept the thread of all completions busy.
TEST_F(MaskTest, AGrammarThatIsMadeToBeSlowEndsItsOwnCompletionOnly) {
  std::string schema = R"({"anyOf":[{"type":"null"})";
  for (int i = 0; i < 100; ++i) {
    schema += R"(,{"type":"array","items":{"$ref":"#"}})";
  }
  std::string empty = "s ::= \"\"*";
  for (int i = 0; i < 10'000; ++i) {
    empty += "|\"\"*";
  }
  int ended = 0;
  for (const auto& grammar :
       {GrammarOfJsonSchema(schema + "]}").value(), GrammarOfRegex("(.{0,700}){3}[[]x").value(),
        GrammarOfGbnf(empty + "\nroot ::= \"[\"* s{4000} \"a\"").value()}) {
    ConstrainedText text(ConstraintOf(*model_, grammar), {end_});
    Automaton automaton(grammar);
    EXPECT_LE(automaton.work(), 2 * limits::kMaxMoveWork);
    absl::Status status;
    for (int i = 0; i < 50 && status.ok(); ++i) {
      std::vector<float> logits(tokenizer_.size(), 1);
      status = text.Mask(logits);
      text.Add(tokenizer_.EncodeContinuation("[").front());
    }
    EXPECT_TRUE(status.ok() || ReasonOf(status) == reasons::kLimitExceeded) << status;
    EXPECT_LE(text.work(), limits::kMaxConstraintWork + limits::kMaxMaskWork);
    ended += status.ok() ? 0 : 1;
  }
  EXPECT_GE(ended, 1) << "one of them is too slow";
}

TEST_F(MaskTest, ATextThatIsNestedTooDeepIsToldSo) {
  const auto grammar = GrammarOfGbnf("root ::= \"(\" root \")\" | \"x\"").value();
  ConstrainedText text(ConstraintOf(*model_, grammar), {end_});
  absl::Status status;
  for (size_t i = 0; i < 2 * limits::kMaxOpenRules && status.ok(); ++i) {
    std::vector<float> logits(tokenizer_.size(), 1);
    status = text.Mask(logits);
    text.Add(tokenizer_.EncodeContinuation("(").front());
  }
  EXPECT_EQ(ReasonOf(status), reasons::kLimitExceeded);
  EXPECT_THAT(MessageOf(status), HasSubstr("nested more than"));
}

// Found by review: compiling took minutes.
TEST(CompilingTest, WhatIsSlowToCompareOrToWriteOutIsRefused) {
  std::string schema = R"({"$defs":{"E":{"enum":[0)";
  for (int i = 1; i < 3000; ++i) {
    schema += "," + std::to_string(i);
  }
  schema += R"(]},"b":{"type":"object","properties":{"p0":{"$ref":"#/$defs/E"})";
  std::string required = "\"p0\"";
  for (int i = 1; i < 400; ++i) {
    schema += ",\"p" + std::to_string(i) + R"(":{"$ref":"#/$defs/E"})";
    required += ",\"p" + std::to_string(i) + "\"";
  }
  schema +=
      R"(},"required":[)" + required + R"(]}},"oneOf":[{"$ref":"#/$defs/b"},{"type":"null"}]})";
  EXPECT_THAT(MessageOf(GrammarOfJsonSchema(schema).status()), HasSubstr("takes too long"));
  std::string nothing = "((";
  for (int i = 0; i < 5000; ++i) {
    nothing += R"([^\s\S]|)";
  }
  EXPECT_THAT(MessageOf(GrammarOfRegex(nothing + "a){9990}){9}").status()), HasSubstr("states"));
  // Thousands of calls before a long chain that reads nothing
  std::string calls = "x ::= \"a\"\nroot ::= (x";
  for (int i = 0; i < 20'000; ++i) {
    calls += "|x";
  }
  EXPECT_TRUE(GrammarOfGbnf(calls + ")(\"\"{9990}){9}").ok());
}

// Options in a row can all be left out, however many there are.
TEST_F(MaskTest, ManyOptionsInARowCanEnd) {
  EXPECT_TRUE(Matches(GrammarOfRegex("(a?){2000}").value(), "aaaaaaaa"));
}

// A vocabulary without the bytes of a character cannot write it.
TEST_F(MaskTest, WithoutATokenThatGoesOnItSaysSo) {
  const auto grammar = GrammarOfChoices(std::vector<std::string>{"a"}).value();
  ConstrainedText text(ConstraintOf(*model_, grammar), {});
  std::vector<float> logits(tokenizer_.size(), 1);
  ASSERT_TRUE(text.Mask(logits).ok());
  text.Add(tokenizer_.EncodeContinuation("a").front());
  EXPECT_EQ(ReasonOf(text.Mask(logits)), reasons::kConstraintUnmet) << "no token ends a text";
}

}  // namespace
}  // namespace ruvd::inference
