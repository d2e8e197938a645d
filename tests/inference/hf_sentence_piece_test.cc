// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/import/hf_tokenizer.h"
#include "inference/import/metadata.h"
#include "inference/tokenizer/tokenizer.h"
#include "tests/conformance/zstd_file.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kSpace = "\xE2\x96\x81";

// Makes merges of SentencePiece's vocabulary as the Transformers library does for a tokenizer.json:
// a merge for every cut of a piece into two, the piece with the best score first.
json MergesOf(const std::map<std::string, float>& pieces) {
  std::vector<std::pair<float, std::string>> order;
  for (const auto& [piece, score] : pieces) {
    order.emplace_back(-score, piece);
  }
  std::ranges::sort(order);
  json merges = json::array();
  for (const auto& [score, piece] : order) {
    for (size_t at = FirstUtf8Char(piece).length; at < piece.size();
         at += FirstUtf8Char(piece.substr(at)).length) {
      if (pieces.contains(piece.substr(0, at)) && pieces.contains(piece.substr(at))) {
        merges.push_back({piece.substr(0, at), piece.substr(at)});
      }
    }
  }
  return merges;
}

json Normalizer() {
  return {
      {"type", "Sequence"},
      {"normalizers",
       json::array({{{"type", "Prepend"}, {"prepend", kSpace}},
                    {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}}})}};
}

// Bytes, a special and an unknown token, and pieces by their scores.
json SmallFile(const std::map<std::string, float>& pieces) {
  json vocabulary = {{"<unk>", 0}, {"<s>", 1}};
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[fmt::format("<0x{:02X}>", byte)] = 2 + byte;
  }
  for (const auto& [piece, score] : pieces) {
    vocabulary[piece] = vocabulary.size();
  }
  return {{"normalizer", Normalizer()},
          {"pre_tokenizer", nullptr},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", json::array({{{"SpecialToken", {{"id", "<s>"}}}}})}}},
          {"added_tokens", json::array({{{"id", 0}, {"content", "<unk>"}, {"special", true}},
                                        {{"id", 1}, {"content", "<s>"}, {"special", true}}})},
          {"model",
           {{"type", "BPE"},
            {"byte_fallback", true},
            {"unk_token", "<unk>"},
            {"vocab", vocabulary},
            {"merges", MergesOf(pieces)}}}};
}

std::map<std::string, float> SmallPieces() {
  const std::string space = kSpace;
  return {{space, -100}, {"a", -101}, {"b", -102},        {"c", -103},
          {"ab", -1},    {"bc", -2},  {space + "ab", -3}, {"abc", -4}};
}

std::string RefusalOf(const json& file) {
  const absl::Status status = ParseHfTokenizer(file.dump(), 300).status();
  EXPECT_EQ(ReasonOf(status), reasons::kTokenizerInvalid) << status;
  return MessageOf(status);
}

std::unique_ptr<Tokenizer> Written(const HfTokenizer& tokenizer) {
  GgufWriter writer;
  WriteTokenizer(tokenizer, HfConfig{}, &writer);
  const std::string file = writer.Serialize().value();
  auto read = Tokenizer::FromGguf(*GgufReader::Parse(AsBytes(file)).value());
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : nullptr;
}

TEST(HfSentencePieceTest, MergesBecomeScores) {
  const json file = SmallFile(SmallPieces());
  const auto tokenizer = ParseHfTokenizer(file.dump(), 270);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ(tokenizer->model, "llama");
  EXPECT_TRUE(tokenizer->add_bos);
  EXPECT_TRUE(tokenizer->add_space_prefix);
  EXPECT_EQ(tokenizer->unknown, 0U);
  EXPECT_EQ(tokenizer->types[0], kHfUnknown);
  EXPECT_EQ(tokenizer->types[1], kHfControl);
  EXPECT_EQ(tokenizer->types[2 + 'x'], kHfByte);
  EXPECT_EQ(tokenizer->types[269], kHfUnused);
  EXPECT_TRUE(tokenizer->merges.empty());
  const auto id = [&](const std::string& piece) {
    return file["model"]["vocab"][piece].get<TokenId>();
  };
  EXPECT_GT(tokenizer->scores[id("ab")], tokenizer->scores[id("bc")]);
  EXPECT_GT(tokenizer->scores[id("bc")], tokenizer->scores[id("abc")]);
  const auto written = Written(*tokenizer);
  ASSERT_NE(written, nullptr);
  EXPECT_THAT(written->Encode("abc x"),
              ElementsAre(id(std::string(kSpace) + "ab"), id("c"), id(kSpace), 2 + 'x'));
  EXPECT_EQ(written->Decode(written->Encode("abc x")), "abc x");
}

TEST(HfSentencePieceTest, SpacesFollowTheFile) {
  json file = SmallFile(SmallPieces());
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = {{"type", "Metaspace"},
                           {"replacement", kSpace},
                           {"prepend_scheme", "first"},
                           {"split", false}};
  EXPECT_TRUE(ParseHfTokenizer(file.dump(), 270)->add_space_prefix);
  file["pre_tokenizer"]["prepend_scheme"] = "never";
  EXPECT_FALSE(ParseHfTokenizer(file.dump(), 270)->add_space_prefix);
  file["pre_tokenizer"]["split"] = true;
  EXPECT_THAT(RefusalOf(file), HasSubstr("pre-tokeniser"));
  file["pre_tokenizer"] = nullptr;
  EXPECT_THAT(RefusalOf(file), HasSubstr("U+2581"));
  file["normalizer"] = {{"type", "NFKC"}};
  EXPECT_THAT(RefusalOf(file), HasSubstr("NFKC"));
}

TEST(HfSentencePieceTest, RefusesMergesThatNoScoresCanSay) {
  json file = SmallFile(SmallPieces());
  json& merges = file["model"]["merges"];
  ASSERT_EQ(merges.size(), 5U);  // one each for ab, bc and _ab, two for abc
  json dropped = file;
  dropped["model"]["merges"].erase(4);
  EXPECT_THAT(RefusalOf(dropped), HasSubstr("has 1 merges and 2 cuts"));
  std::swap(merges[2], merges[3]);
  EXPECT_THAT(RefusalOf(file), HasSubstr("overlap"));
}

// A tokenizer.json of Llama 2's vocabulary gives the ids that llama.cpp computes from its scores.
TEST(HfSentencePieceTest, ImportOfLlama2GivesLlamaCppsIds) {
  const auto folder = std::filesystem::path(test::SourceDir()) / "../shared/fixtures/tokenizers";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is absent";
  }
  const std::string stem = (folder / "llama-spm").string();
  const std::string bytes = ReadZstdFile(stem + ".gguf.zst", 32 << 20).value();
  const auto source = GgufReader::Parse(AsBytes(bytes)).value();
  const auto tokens = source->GetStringViews("tokenizer.ggml.tokens").value();
  const auto types = source->GetIntArray("tokenizer.ggml.token_type").value();
  const auto scores = source->GetFloatArray("tokenizer.ggml.scores").value();
  json file = SmallFile({});
  file["added_tokens"] = json::array();
  json vocabulary;
  std::map<std::string, float> pieces;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string token(tokens[id]);
    vocabulary[token] = id;
    if (types[id] == kHfNormal) {
      pieces[token] = scores[id];
    } else if (types[id] != kHfByte) {
      file["added_tokens"].push_back({{"id", id}, {"content", token}, {"special", true}});
    }
  }
  file["model"]["vocab"] = std::move(vocabulary);
  file["model"]["merges"] = MergesOf(pieces);
  const auto imported = ParseHfTokenizer(file.dump(), tokens.size());
  ASSERT_TRUE(imported.ok()) << imported.status();
  for (size_t id = 0; id < tokens.size(); ++id) {
    ASSERT_EQ(imported->types[id], types[id]) << id;
  }
  const auto tokenizer = Written(*imported);
  ASSERT_NE(tokenizer, nullptr);
  std::string rest = ReadFile(stem + ".inp", 1 << 20).value();
  std::istringstream expected(ReadFile(stem + ".out", 1 << 20).value());
  const std::string separator = "\n__ggml_vocab_test__\n";
  int cases = 0;
  for (size_t at = rest.find(separator); at != std::string::npos; at = rest.find(separator)) {
    std::string line;
    ASSERT_TRUE(std::getline(expected, line));
    std::istringstream numbers(line);
    const std::vector<TokenId> ids{std::istream_iterator<TokenId>(numbers), {}};
    EXPECT_EQ(tokenizer->Encode(rest.substr(0, at)), ids) << "text: " << rest.substr(0, at);
    rest.erase(0, at + separator.size());
    ++cases;
  }
  EXPECT_EQ(cases, 46);
}

}  // namespace
}  // namespace ruvd::inference
