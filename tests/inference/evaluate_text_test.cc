// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "inference/evaluate/evaluate.h"
#include "inference/evaluate/limits.h"
#include "inference/evaluate/text_documents.h"
#include "inference/train/score.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/test_vocabulary.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::inference {
namespace {

using test::TinyModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Pack(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TEST(TextDocumentsTest, ReadsPlainTextJsonLinesAndZstandard) {
  EXPECT_THAT(ParseTextDocuments("one\ntwo\n", "x.txt").value(), ElementsAre("one\ntwo\n"));
  const std::string lines = "{\"text\": \"a\\nb\", \"source\": 1}\n\n  \r\n{\"text\":\"\\u00e9\"}";
  EXPECT_THAT(ParseTextDocuments(lines, "x.jsonl").value(), ElementsAre("a\nb", "\u00e9"));
  EXPECT_THAT(ParseTextDocuments(Pack(lines), "x.jsonl.zst").value(),
              ElementsAre("a\nb", "\u00e9"));
  EXPECT_THAT(ParseTextDocuments(Pack("plain"), "x.zst").value(), ElementsAre("plain"));
  // Two frames in a row are one text.
  EXPECT_THAT(ParseTextDocuments(Pack("one ") + Pack("two"), "x.txt.zst").value(),
              ElementsAre("one two"));
  EXPECT_THAT(ParseTextDocuments("", "x.jsonl").value(), ::testing::IsEmpty());
}

TEST(TextDocumentsTest, NamesTheLineThatIsWrong) {
  for (const std::string bad :
       {"{", "[1]", "{\"text\": 3}", "{\"txt\": \"a\"}", "\"text\"", "{\"text\": \"\xff\"}"}) {
    const absl::Status status =
        ParseTextDocuments("{\"text\": \"good\"}\n" + bad + "\n", "x.jsonl").status();
    EXPECT_EQ(ReasonOf(status), reasons::kFileUnreadable) << bad;
    EXPECT_THAT(MessageOf(status), HasSubstr("line 2")) << bad;
  }
}

TEST(TextDocumentsTest, RefusesBrokenAndOversizedArchives) {
  EXPECT_EQ(ReasonOf(ParseTextDocuments("no zstd", "x.zst").status()), reasons::kFileUnreadable);
  const std::string whole = Pack(std::string(100000, 'x') + "end");
  for (const size_t length : {size_t{0}, size_t{3}, whole.size() - 1}) {
    EXPECT_EQ(ReasonOf(ParseTextDocuments(whole.substr(0, length), "x.zst").status()),
              reasons::kFileUnreadable)
        << length;
  }
  EXPECT_EQ(ReasonOf(ReadTextDocuments("/nonexistent/file.jsonl").status()),
            reasons::kFileNotFound);
  const std::string bomb = Pack(std::string(limits::kMaxTextBytes + 1, '\0'));
  EXPECT_EQ(ReasonOf(ParseTextDocuments(bomb, "x.zst").status()), reasons::kLimitExceeded);
}

TEST(TextDocumentsTest, EndsEveryDocumentWithEndOfText) {
  const TinyModel model(TinyModel::Options{});
  const std::vector<std::string> documents = {"AB", "C"};
  EXPECT_THAT(EncodeDocuments(model.tokenizer(), documents),
              ElementsAre(0, 1, TinyModel::kEnd, 2, TinyModel::kEnd));
}

TEST(TextDocumentsTest, DocumentsLackedTheBeginningOfTextToken) {
  auto vocabulary = test::TestVocabulary::Bytes();
  const TokenId bos = vocabulary.Add("<s>", test::TestVocabulary::kControl);
  vocabulary.extra = [bos](GgufWriter* writer) {
    writer->SetUnsigned32("tokenizer.ggml.bos_token_id", bos);
    writer->SetBool("tokenizer.ggml.add_bos_token", true);
  };
  const std::vector<std::string> documents = {"A", "B"};
  EXPECT_THAT(EncodeDocuments(*vocabulary.Build().value(), documents),
              ElementsAre(bos, 'A', bos, 'B'));
}

class EvaluateTest : public ::testing::Test {
 protected:
  EvaluateTest() {
    Random random(2);
    for (TokenId& token : stream_) {
      token = static_cast<TokenId>(random.Below(36));
    }
  }
  absl::StatusOr<EvaluateResult> Run(const EvaluateOptions& options) {
    return EvaluateText(transformer_, stream_, options, {});
  }

  std::shared_ptr<TinyModel> model_ = std::make_shared<TinyModel>(TinyModel::Options{});
  CpuTransformer transformer_{model_, SerialRunner()};
  std::vector<TokenId> stream_ = std::vector<TokenId>(101);
};

TEST_F(EvaluateTest, AutoregressiveIsTheMeanOfTheCropsScores) {
  const EvaluateResult result =
      Run({.mode = DecodingMode::kAutoregressive, .sequences = 4, .sequence_length = 20}).value();
  // Crops begin at linspace(0, 101 - 20 - 1, 4), rounded down.
  std::vector<double> crops;
  for (const size_t start : {0U, 26U, 53U, 80U}) {
    crops.push_back(ScoreCompletion(transformer_, {}, std::span(stream_).subspan(start, 20),
                                    nullptr, {.mode = DecodingMode::kAutoregressive})
                        .value());
  }
  const double mean = std::accumulate(crops.begin(), crops.end(), 0.0) / 4;
  double squares = 0;
  for (const double crop : crops) {
    squares += (crop - mean) * (crop - mean);
  }
  EXPECT_EQ(result.sequences, 4);
  EXPECT_NEAR(result.nats_per_token, mean, 1e-9);
  EXPECT_NEAR(result.standard_error, std::sqrt(squares / 4) / 2, 1e-9);
  EXPECT_EQ(result.mask_error, 0);
  // Every token of the tiny tokenizer is one byte.
  EXPECT_NEAR(result.bits_per_byte, mean / std::numbers::ln2, 1e-9);
}

// Ten spans of ten in every pass, so each k occurs once in each and the counts are known.
TEST_F(EvaluateTest, DiffusionCountsEveryMaskedTokenInItsBin) {
  for (const DecodingMode mode : {DecodingMode::kDiffusion, DecodingMode::kBlock}) {
    const bool blocks = mode == DecodingMode::kBlock;
    const EvaluateOptions options{.mode = mode,
                                  .sequences = blocks ? 5 : 10,
                                  .sequence_length = blocks ? 20 : 10,
                                  .samples = 8,
                                  .block_length = 10,
                                  .seed = 3};
    const EvaluateResult result = Run(options).value();
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(result.tokens_by_t[i], 8 * static_cast<int64_t>(i + 1));
      EXPECT_GT(result.nats_by_t[i], 0);
    }
    // An untrained model is no better than guessing, 3.7 nats for 40 tokens.
    EXPECT_GT(result.nats_per_token, 3.0);
    EXPECT_LT(result.nats_per_token, 6.0);
    EXPECT_EQ(Run(options).value().nats_per_token, result.nats_per_token);
  }
}

TEST_F(EvaluateTest, MaskErrorIsTheSpreadOfThePasses) {
  const EvaluateOptions options{.sequences = 9, .sequence_length = 11, .samples = 400};
  const EvaluateResult many = Run(options).value();
  EXPECT_GT(many.mask_error, 0);
  // Means over few passes scatter about the mean over many as their error says.
  int within = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    EvaluateOptions few = options;
    few.samples = 16;
    few.seed = seed;
    const EvaluateResult result = Run(few).value();
    within += std::abs(result.nats_per_token - many.nats_per_token) < 2.5 * result.mask_error;
  }
  EXPECT_GE(within, 35);
  EvaluateOptions one = options;
  one.samples = 1;
  EXPECT_EQ(Run(one).value().mask_error, 0);
}

TEST_F(EvaluateTest, TakesAsManyCropsAsFit) {
  const EvaluateOptions options{
      .mode = DecodingMode::kAutoregressive, .sequences = 100, .sequence_length = 20};
  EXPECT_EQ(Run(options).value().sequences, 5);
}

TEST_F(EvaluateTest, ReportsProgressAndStops) {
  std::vector<int> seen;
  const EvaluateOptions options{.sequences = 4, .sequence_length = 10};
  const auto result = EvaluateText(transformer_, stream_, options, [&](int done, int total) {
    EXPECT_EQ(total, 4);
    seen.push_back(done);
    return done < 2;
  });
  EXPECT_EQ(ReasonOf(result.status()), reasons::kCancelled);
  EXPECT_THAT(seen, ElementsAre(1, 2));
}

TEST_F(EvaluateTest, RefusesOptionsOutOfRange) {
  const auto reason = [&](const EvaluateOptions& options) {
    return ReasonOf(Run(options).status());
  };
  EXPECT_EQ(reason({.sequences = 0, .sequence_length = 10}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.sequence_length = 65}), reasons::kInvalidArgument) << "beyond the context";
  EXPECT_EQ(reason({.sequence_length = 10, .samples = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.sequence_length = 10, .block_length = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.sequences = 1 << 16, .sequence_length = 2, .samples = 2}),
            reasons::kInvalidArgument);
  stream_.resize(10);
  EXPECT_EQ(reason({.sequence_length = 10}), reasons::kInvalidArgument) << "too short";
}

}  // namespace
}  // namespace ruvd::inference
