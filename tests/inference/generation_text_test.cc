// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "inference/engine/completion_text.h"
#include "inference/engine/generation.h"
#include "inference/train/trainer.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

using test::kTinyEndOfText;
using test::kTinyMask;

const Tokenizer& Bytes() {
  static const auto tokenizer = test::ByteTokenizer();
  return *tokenizer;
}

std::vector<TokenId> TokensOf(const std::string& text) {
  const auto bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

TEST(CompletionTextTest, NeverGivesHalfACharacter) {
  CompletionText text(Bytes(), {kTinyEndOfText}, {});
  const std::vector<TokenId> euro = TokensOf("\xE2\x82\xAC");
  EXPECT_EQ(text.Append(std::span(euro).first(1)), "");
  EXPECT_EQ(text.Append(std::span(euro).subspan(1, 1)), "");
  EXPECT_EQ(text.Append(std::span(euro).subspan(2)), "\xE2\x82\xAC");
  EXPECT_EQ(text.Append(TokensOf("a\xC3")), "a");
  EXPECT_EQ(text.Finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(text.text(),
            "\xE2\x82\xAC"
            "a\xEF\xBF\xBD");
}

TEST(CompletionTextTest, EndsBeforeTheFirstStopString) {
  CompletionText text(Bytes(), {kTinyEndOfText}, {"END", "\n\n"});
  EXPECT_EQ(text.Append(TokensOf("one E")), "one ");  // could become END
  EXPECT_EQ(text.Append(TokensOf("N")), "");
  EXPECT_EQ(text.Append(TokensOf("x")), "ENx");
  EXPECT_EQ(text.Append(TokensOf("y\n")), "y");
  EXPECT_EQ(text.Append(TokensOf("\nmore END")), "");
  EXPECT_EQ(text.end(), CompletionText::End::kStop);
  EXPECT_EQ(text.Append(TokensOf("late")), "");
  EXPECT_EQ(text.Finish(), "");
  EXPECT_EQ(text.text(), "one ENxy");
}

TEST(CompletionTextTest, TokensOfAStopStringAreNotShown) {
  const auto shown = [](const std::string& stop, const std::string& tokens, int end) {
    CompletionText text(Bytes(), {kTinyEndOfText}, {stop});
    std::vector<TokenId> all = TokensOf(tokens);
    if (end > 0) {
      all.push_back(kTinyEndOfText);
    }
    text.Append(all);
    text.Finish();
    return text.shown_tokens();
  };
  EXPECT_EQ(shown("END", "one END two", 0), 4);
  EXPECT_EQ(shown("END", "END", 0), 0);
  EXPECT_EQ(shown("END", "one", 0), 3);
  EXPECT_EQ(shown("END", "one", 1), 4);    // with the token that ended it
  EXPECT_EQ(shown("END", "a END", 1), 2);  // which comes too late
  // A character of several tokens belongs to the stop string as a whole.
  EXPECT_EQ(shown("\xE2\x82\xACx", "a\xE2\x82\xACx", 0), 1);
  EXPECT_EQ(shown("x", "a\xE2\x82\xACx", 0), 4);
}

TEST(CompletionTextTest, HeldBackTextComesAtTheEnd) {
  CompletionText text(Bytes(), {kTinyEndOfText}, {"stop"});
  EXPECT_EQ(text.Append(TokensOf("sto")), "");
  EXPECT_EQ(text.Finish(), "sto");
}

TEST(CompletionTextTest, EndOfTextEndsUnlessIgnored) {
  std::vector<TokenId> tokens = TokensOf("ab");
  tokens.push_back(kTinyEndOfText);
  tokens.push_back('c');
  CompletionText text(Bytes(), {kTinyEndOfText}, {});
  EXPECT_EQ(text.Append(tokens), "ab");
  EXPECT_EQ(text.end(), CompletionText::End::kEndOfText);
  CompletionText ignoring(Bytes(), {}, {});
  EXPECT_EQ(ignoring.Append(tokens), "abc");  // special tokens stand for no text
}

// However the tokens arrive, the pieces add up to the text up to the first stop string.
RC_GTEST_PROP(CompletionTextTest, PiecesAddUp, ()) {
  const auto letters = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
  const auto stop = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'b')));
  CompletionText text(Bytes(), {kTinyEndOfText}, {stop});
  const std::vector<TokenId> tokens = TokensOf(letters);
  std::string streamed;
  for (size_t i = 0; i < tokens.size();) {
    const size_t n = std::min(tokens.size() - i, *rc::gen::inRange<size_t>(1, 4));
    streamed += text.Append(std::span(tokens).subspan(i, n));
    i += n;
  }
  streamed += text.Finish();
  RC_ASSERT(streamed == letters.substr(0, letters.find(stop)));
  RC_ASSERT(streamed == text.text());
  RC_ASSERT(static_cast<size_t>(text.shown_tokens()) == streamed.size());  // a byte each
}

// The shipped test model, if the checkout has it.
class GenerationShippedModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf";
    auto model = Model::Load(path);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *model;
  }

  std::unique_ptr<Generation> Run(const std::string& prompt, const SamplingOptions& options,
                                  const AdapterMix& mix = {}) {
    CpuTransformer transformer(model_, SerialRunner());
    auto generation =
        Generation::Create(*model_, model_->tokenizer().Encode(prompt), options, [&](float) {
          return mix;
        }).value();
    streamed_.clear();
    while (!generation->done()) {
      const StepResult step = generation->Step(transformer).value();
      streamed_ += step.text;
    }
    return generation;
  }

  std::shared_ptr<const Model> model_;
  std::string streamed_;
};

TEST_F(GenerationShippedModelTest, EveryModeWritesText) {
  for (const auto mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const auto generation =
        Run("The history of", {.mode = mode, .max_tokens = 24, .repetition_penalty = 1.3F});
    EXPECT_GT(generation->text().size(), 20U);
    EXPECT_EQ(generation->text(), streamed_);
    EXPECT_NE(generation->text().find(' '), std::string::npos);
  }
}

TEST_F(GenerationShippedModelTest, StopStringEndsTheTextEarly) {
  SamplingOptions options{.mode = DecodingMode::kAutoregressive, .max_tokens = 24};
  const std::string whole = Run("The history of", options)->text();
  const std::string stop = whole.substr(whole.size() / 2, 3);
  options.stop = {stop};
  for (const auto mode : {DecodingMode::kAutoregressive, DecodingMode::kBlock}) {
    options.mode = mode;
    const auto generation = Run("The history of", options);
    EXPECT_EQ(generation->text().find(stop), std::string::npos);
    EXPECT_EQ(generation->text(), streamed_);
    if (mode == DecodingMode::kAutoregressive) {
      EXPECT_EQ(generation->finish_reason(), FinishReason::kStop);
      EXPECT_EQ(generation->text(), whole.substr(0, whole.find(stop)));
    }
  }
}

// The end-of-text token ends the text in every mode, and nothing after it is decoded. The model is
// taught to draw it, so that the test does not wait for chance.
TEST_F(GenerationShippedModelTest, EndOfTextEndsTheText) {
  CpuTransformer transformer(model_, SerialRunner());
  const Tokenizer& tokenizer = model_->tokenizer();
  TrainingExample example{.prompt = tokenizer.Encode("The last words were"),
                          .completion = tokenizer.Encode(" good night.")};
  example.completion.push_back(*tokenizer.eos_id());
  const std::vector<TrainingExample> examples = {example};
  const train::Site site{static_cast<size_t>(model_->config().layers) - 1,
                         train::Linear::kAttentionOutput};
  const auto trained = TrainLora(
      transformer, std::span(&site, 1), examples, {}, nullptr,
      {.rank = 8, .steps = 60, .batch = 2, .learning_rate = 0.03F, .held_out_samples = 1});
  ASSERT_TRUE(trained.ok()) << trained.status();
  const AdapterMix mix{.parts = {{trained->adapter, 1.0F}}};
  for (const auto mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const auto generation = Run("The last words were", {.mode = mode, .max_tokens = 12}, mix);
    EXPECT_EQ(generation->finish_reason(), FinishReason::kEndOfText);
    EXPECT_EQ(generation->text(), streamed_);
    const auto& tokens = generation->tokens();
    const auto end =
        std::find(tokens.begin() + generation->prompt_length(), tokens.end(), *tokenizer.eos_id());
    ASSERT_NE(end, tokens.end());
    const std::vector<TokenId> before(tokens.begin() + generation->prompt_length(), end);
    EXPECT_EQ(generation->text(), tokenizer.Decode(before));
    EXPECT_EQ(std::count(before.begin(), before.end(), *tokenizer.mask_id()), 0);
    EXPECT_LT(generation->steps(), 12);  // nothing after the end is decoded
    const auto ignoring = Run("The last words were",
                              {.mode = mode, .max_tokens = 12, .ignore_end_of_text = true}, mix);
    EXPECT_EQ(ignoring->finish_reason(), FinishReason::kLength);
    EXPECT_EQ(ignoring->steps(), 12);
  }
}

}  // namespace
}  // namespace ruvd::inference
