// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/hf_tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/tokenizer/pre_tokenizer.h"

namespace ruvd::inference {
namespace {

using nlohmann::json;

json ByteLevel(bool use_regex) {
  return {{"type", "ByteLevel"}, {"use_regex", use_regex}};
}

json Sequence(const json& first, bool use_regex) {
  return {{"type", "Sequence"}, {"pretokenizers", {first, ByteLevel(use_regex)}}};
}

json Split(const std::string& expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}};
}

// Returns the pre-tokeniser's name in GGUF, or the reason of the refusal.
std::string PreOf(const json& pre_tokenizer, bool ignore_merges = false) {
  const json file = {{"model",
                      {{"type", "BPE"},
                       {"vocab", {{"a", 0}}},
                       {"merges", json::array()},
                       {"ignore_merges", ignore_merges}}},
                     {"pre_tokenizer", pre_tokenizer}};
  const auto tokenizer = ParseHfTokenizer(file.dump(), 1);
  return tokenizer.ok() ? tokenizer->pre : ReasonOf(tokenizer.status());
}

constexpr char kContractions[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
constexpr char kQwen2Rest[] = R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

TEST(HfTokenizerTest, KnowsSplittersByTheirExpressions) {
  const std::string letters = std::string(kContractions) + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|)";
  EXPECT_EQ(PreOf(Sequence(Split(letters + R"(\p{N}|)" + kQwen2Rest), false)), "qwen2");
  const std::string llama = letters + R"(\p{N}{1,3}|)" + kQwen2Rest;
  EXPECT_EQ(PreOf(Sequence(Split(llama), false), /*ignore_merges=*/true), "llama-bpe");
  EXPECT_EQ(PreOf(Sequence(Split(llama), false)), "smaug-bpe");
  EXPECT_EQ(PreOf(ByteLevel(true)), "gpt-2");
  const json digits = {{"type", "Digits"}, {"individual_digits", true}};
  EXPECT_EQ(PreOf(Sequence(digits, true)), "starcoder");
  const std::string upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
  const std::string lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  const std::string lead = R"([^\r\n\p{L}\p{N}]?)";
  const std::string tekken = lead + upper + "*" + lower + "+|" + lead + upper + "+" + lower + "*" +
                             R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  EXPECT_EQ(PreOf(Sequence(Split(tekken), false)), "tekken");
  EXPECT_EQ(PreOf(Sequence(Split(tekken), false), /*ignore_merges=*/true), "tekken");
  for (const char* name : {"qwen2", "llama-bpe", "smaug-bpe", "gpt-2", "starcoder", "qwen35",
                           "seed-coder", "llada-moe", "tekken"}) {
    EXPECT_TRUE(PreTokenizerByName(name).has_value()) << name;
  }
}

TEST(HfTokenizerTest, RefusesSplittersItDoesNotKnow) {
  const std::string qwen2 =
      std::string(kContractions) + R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)" + kQwen2Rest;
  EXPECT_EQ(PreOf(Sequence(Split(qwen2 + "|x"), false)), reasons::kTokenizerInvalid);
  EXPECT_EQ(PreOf(Sequence(Split(qwen2), true)), reasons::kTokenizerInvalid);
  EXPECT_EQ(PreOf(Sequence(Split(qwen2), false), /*ignore_merges=*/true),
            reasons::kTokenizerInvalid);
  EXPECT_EQ(PreOf(ByteLevel(false)), reasons::kTokenizerInvalid);
  const json grouped = {{"type", "Digits"}, {"individual_digits", false}};
  EXPECT_EQ(PreOf(Sequence(grouped, true)), reasons::kTokenizerInvalid);
  EXPECT_EQ(PreOf(json()), reasons::kTokenizerInvalid);
}

}  // namespace
}  // namespace ruvd::inference
