// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/convert/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/engine/generation.h"
#include "inference/evaluate/evaluate.h"
#include "tests/inference/causal_model_file.h"
#include "tests/inference/finished_generation.h"

namespace ruvd::inference {
namespace {

using test::CausalModelFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kSentence[] = "the old man walked down to the sea and counted the ships; ";

std::vector<TokenId> Stream(size_t tokens) {
  std::vector<TokenId> stream(tokens);
  for (size_t i = 0; i < tokens; ++i) {
    stream[i] = static_cast<unsigned char>(kSentence[i % (sizeof(kSentence) - 1)]);
  }
  return stream;
}

class ConversionTest : public ::testing::Test {
 protected:
  ConversionTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / test->test_suite_name() / test->name();
    std::filesystem::create_directories(folder_);
    options_.rank = 4;
    options_.block_length = 4;
    options_.length = 24;
    options_.batch = 4;
    options_.steps = 60;
    options_.learning_rate = 0.02;
    options_.held_out = 8;
  }
  ~ConversionTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }

  absl::StatusOr<std::unique_ptr<Conversion>> Create(const CausalModelFile& base,
                                                     const ConversionTexts& texts = {
                                                         .train = Stream(600), .held_out = {}}) {
    RETURN_IF_ERROR(WriteFileAtomically(Path("base.gguf"), base.Serialize()));
    return Conversion::Create(
        Path("base.gguf"), [&](const Tokenizer&) { return texts; }, options_, SerialRunner());
  }
  // Returns the message with which Create refuses.
  std::string Refusal(const CausalModelFile& base,
                      const ConversionTexts& texts = {.train = Stream(600), .held_out = {}}) {
    const auto conversion = Create(base, texts);
    EXPECT_FALSE(conversion.ok());
    return MessageOf(conversion.status());
  }

  std::filesystem::path folder_;
  ConversionOptions options_;
};

TEST_F(ConversionTest, ABaseBecomesABlockDiffusionModel) {
  auto conversion = Create({});
  ASSERT_TRUE(conversion.ok()) << conversion.status();
  EXPECT_EQ((*conversion)->mask(), CausalModelFile::kSpare);
  ASSERT_TRUE((*conversion)->Advance(nullptr).ok());
  ASSERT_EQ((*conversion)->held_out().size(), 2U);
  EXPECT_LT((*conversion)->held_out()[1], 0.7 * (*conversion)->held_out()[0]);
  ASSERT_TRUE((*conversion)->Write(Path("out.gguf"), "").ok());

  const auto model = Model::Load(Path("out.gguf"));
  ASSERT_TRUE(model.ok()) << model.status();
  const ModelConfig& config = (*model)->config();
  EXPECT_EQ(config.architecture, Architecture::kDream);
  EXPECT_TRUE(config.shift_logits);
  EXPECT_FALSE(config.causal);
  EXPECT_EQ(config.block_length, 4);
  EXPECT_EQ((*model)->tokenizer().mask_id(), CausalModelFile::kSpare);
  EXPECT_TRUE((*model)->tokenizer().IsControlText("<|spare|>"));

  // The serving path agrees with the training measurement, and decodes block by block.
  const auto transformer = DefaultBackend().Load(*model, {.runner = SerialRunner()});
  ASSERT_TRUE(transformer.ok()) << transformer.status();
  const auto scored = EvaluateText(**transformer, Stream(200),
                                   {.mode = DecodingMode::kBlock,
                                    .sequences = 8,
                                    .sequence_length = 24,
                                    .samples = 8,
                                    .block_length = 4},
                                   [](int, int) { return true; });
  ASSERT_TRUE(scored.ok()) << scored.status();
  EXPECT_NEAR(scored->nats_per_token, (*conversion)->held_out()[1], 0.25);
  const auto generation = Generation::Create(
      **model, Stream(10), {.max_tokens = 12, .ignore_end_of_text = true}, nullptr);
  ASSERT_TRUE(generation.ok()) << generation.status();
  const auto finished = test::RunToEnd(**generation, **transformer);
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_EQ(finished->tokens.size(), 22U);
  EXPECT_EQ(std::ranges::count(finished->tokens, CausalModelFile::kSpare), 0);
}

// Only rounding lies between the run's NELBO and that of the written file, tied or not and in every
// format; float32 rounds nothing.
TEST_F(ConversionTest, TheWrittenFileIsTheBaseWithItsChanges) {
  for (const bool tied : {true, false}) {
    for (const auto& [type, allowed] :
         {std::pair(TensorType::kF32, 1e-5), std::pair(TensorType::kF16, 5e-3),
          std::pair(TensorType::kQ8_0, 0.03)}) {
      auto conversion = Create({.type = type, .tied = tied, .biases = !tied});
      ASSERT_TRUE(conversion.ok()) << conversion.status();
      ASSERT_TRUE((*conversion)->Advance(nullptr).ok());
      const auto written = (*conversion)->Write(Path("out.gguf"), "");
      ASSERT_TRUE(written.ok()) << written.status();
      EXPECT_NEAR(written->nelbo, (*conversion)->held_out().back(), allowed)
          << TensorTypeName(type) << tied;
      EXPECT_EQ(written->bytes, std::filesystem::file_size(Path("out.gguf")));
    }
  }
}

TEST_F(ConversionTest, TheTypeOfTheWrittenFileCanBeChosen) {
  auto conversion = Create({});
  ASSERT_TRUE((*conversion)->Advance(nullptr).ok());
  const auto written = (*conversion)->Write(Path("out.gguf"), "q8_0");
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_NE(written->nelbo, (*conversion)->held_out().back());
  EXPECT_NEAR(written->nelbo, (*conversion)->held_out().back(), 0.03);
  const auto file = GgufReader::Open(Path("out.gguf"));
  EXPECT_EQ((*file)->Find("token_embd.weight")->type, TensorType::kQ8_0);
  EXPECT_EQ((*file)->Find("output_norm.weight")->type, TensorType::kF32);
}

// Quantised rows of the embedding are copied, not encoded again; so are weights without a change.
TEST_F(ConversionTest, WhatIsNotTrainedStaysAsItIs) {
  options_.steps = 3;
  auto conversion = Create({.type = TensorType::kQ4_0, .tied = true});
  ASSERT_TRUE(conversion.ok()) << conversion.status();
  ASSERT_TRUE((*conversion)->Advance(nullptr).ok());
  ASSERT_TRUE((*conversion)->Write(Path("out.gguf"), "").ok());
  const auto base = GgufReader::Open(Path("base.gguf"));
  const auto out = GgufReader::Open(Path("out.gguf"));
  ASSERT_EQ((*base)->tensors().size(), (*out)->tensors().size());
  const auto bytes = [](const GgufReader& file, const std::string& name) {
    const auto data = file.Data(*file.Find(name));
    return std::vector<uint8_t>(data.begin(), data.end());
  };
  EXPECT_EQ(bytes(**out, "blk.0.attn_norm.weight"), bytes(**base, "blk.0.attn_norm.weight"));
  EXPECT_NE(bytes(**out, "blk.1.ffn_up.weight"), bytes(**base, "blk.1.ffn_up.weight"));
  const auto before = bytes(**base, "token_embd.weight");
  const auto after = bytes(**out, "token_embd.weight");
  const size_t row = before.size() / 258;
  for (size_t token = 0; token < 258; ++token) {
    const auto begin = static_cast<ptrdiff_t>(token * row);
    const bool same =
        std::equal(before.begin() + begin, before.begin() + begin + static_cast<ptrdiff_t>(row),
                   after.begin() + begin);
    EXPECT_EQ(same, token != CausalModelFile::kSpare) << token;
  }
}

TEST_F(ConversionTest, ACheckpointGoesOnBitForBit) {
  options_.steps = 8;
  options_.anneal = 0.5;
  auto whole = Create({});
  ASSERT_TRUE((*whole)->Advance(nullptr).ok());
  auto first = Create({});
  ASSERT_TRUE((*first)->Advance([&] { return (*first)->step() == 5; }).ok());
  const std::string checkpoint = (*first)->Checkpoint();
  auto second = Create({});
  ASSERT_TRUE((*second)->Restore(AsBytes(checkpoint)).ok());
  EXPECT_EQ((*second)->step(), 5U);
  ASSERT_TRUE((*second)->Advance(nullptr).ok());
  EXPECT_EQ((*second)->Checkpoint(), (*whole)->Checkpoint());
  EXPECT_EQ((*second)->held_out(), (*whole)->held_out());
  // The checkpoint of another run is refused: other blocks, text, base.
  options_.block_length = 8;
  EXPECT_FALSE((*Create({}))->Restore(AsBytes(checkpoint)).ok());
  options_.block_length = 4;
  EXPECT_FALSE(
      (*Create({}, {.train = Stream(601), .held_out = {}}))->Restore(AsBytes(checkpoint)).ok());
  EXPECT_FALSE((*Create({.seed = 2}))->Restore(AsBytes(checkpoint)).ok());
}

TEST_F(ConversionTest, TheLastTwentiethIsHeldOutUnlessTextIsGiven) {
  auto conversion = Create({}, {.train = Stream(960), .held_out = {}});
  EXPECT_EQ((*conversion)->training_tokens(), 912U);
  EXPECT_EQ((*conversion)->held_out_crops(), 2U);
  conversion = Create({}, {.train = Stream(960), .held_out = Stream(100)});
  EXPECT_EQ((*conversion)->training_tokens(), 960U);
  EXPECT_EQ((*conversion)->held_out_crops(), 4U);
}

TEST_F(ConversionTest, OnlyACausalQwen2IsConverted) {
  EXPECT_THAT(Refusal({.architecture = "dream"}), HasSubstr("is a diffusion model already"));
  EXPECT_THAT(Refusal({.architecture = "llama"}),
              AllOf(HasSubstr("\"llama\""), HasSubstr("qwen2")));
  EXPECT_THAT(
      Refusal({.extra = [](GgufWriter* w) { w->SetBool("qwen2.attention.causal", false); }}),
      HasSubstr("not causal"));
  EXPECT_THAT(
      Refusal(
          {.extra = [](GgufWriter* w) { w->SetUnsigned32("qwen2.attention.sliding_window", 8); }}),
      HasSubstr("limited to 8 tokens"));
  // A window that hides nothing is left out.
  options_.steps = 1;
  auto conversion = Create(
      {.extra = [](GgufWriter* w) { w->SetUnsigned32("qwen2.attention.sliding_window", 64); }});
  ASSERT_TRUE(conversion.ok()) << conversion.status();
  ASSERT_TRUE((*conversion)->Advance(nullptr).ok());
  EXPECT_TRUE((*conversion)->Write(Path("out.gguf"), "").ok());
  const auto missing = Conversion::Create(
      Path("absent.gguf"), [](const Tokenizer&) { return ConversionTexts(); }, options_,
      SerialRunner());
  EXPECT_EQ(ReasonOf(missing.status()), reasons::kFileNotFound);
}

TEST_F(ConversionTest, TextsAndOptionsThatDoNotFitAreRefused) {
  EXPECT_THAT(Refusal({}, {.train = Stream(40), .held_out = {}}),
              HasSubstr("the text is too short: 16 tokens to learn and 24 held out"));
  EXPECT_THAT(Refusal({}, {.train = Stream(40), .held_out = Stream(10)}), HasSubstr("too short"));
  ConversionTexts masked{.train = Stream(600), .held_out = {}};
  masked.train[30] = CausalModelFile::kSpare;
  EXPECT_THAT(Refusal({}, masked), HasSubstr("the text contains token 257"));
  EXPECT_THAT(Refusal({.spare_kind = TokenKind::kControl}), HasSubstr("--mask-token"));
  const auto with = [&](auto change) {
    const ConversionOptions kept = options_;
    change(options_);
    const std::string refusal = Refusal({});
    options_ = kept;
    return refusal;
  };
  EXPECT_THAT(with([](auto& o) { o.length = 65; }), HasSubstr("choose 2 to 64"));
  EXPECT_THAT(with([](auto& o) { o.block_length = 25; }), HasSubstr("choose 2 to 24"));
  EXPECT_THAT(with([](auto& o) { o.rank = 17; }), HasSubstr("must be 1 to 16"));
  EXPECT_THAT(with([](auto& o) { o.rank = 0; }), HasSubstr("rank"));
  EXPECT_THAT(with([](auto& o) { o.batch = 0; }), HasSubstr("batch"));
  EXPECT_THAT(with([](auto& o) { o.anneal = 1.5; }), HasSubstr("1.5"));
  EXPECT_THAT(with([](auto& o) { o.learning_rate = -1; }), HasSubstr("learning_rate"));
}

}  // namespace
}  // namespace ruvd::inference
