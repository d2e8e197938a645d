// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/random.h"
#include "tests/inference/backtracking_regex.h"

namespace ruvd::inference {
namespace {

using ::testing::ElementsAre;

TEST(PreTokenizerTest, Gpt2Rules) {
  const auto split = [](std::string_view text) { return SplitWords(PreTokenizer::kGpt2, text); };
  EXPECT_THAT(split("I'll it'S"), ElementsAre("I", "'ll", " it", "'", "S"));
  EXPECT_THAT(split("a  b \n"), ElementsAre("a", " ", " b", " \n"));
  EXPECT_THAT(split("x 123abc"), ElementsAre("x", " 123", "abc"));
  EXPECT_THAT(split("hi!? ..."), ElementsAre("hi", "!?", " ..."));
  EXPECT_THAT(split(" "), ElementsAre(" "));
}

TEST(PreTokenizerTest, Qwen2Rules) {
  const auto split = [](std::string_view text) { return SplitWords(PreTokenizer::kQwen2, text); };
  EXPECT_THAT(split("I'LL we'Ve"), ElementsAre("I", "'LL", " we", "'Ve"));
  EXPECT_THAT(split("12 3"), ElementsAre("1", "2", " ", "3"));
  EXPECT_THAT(split("(word\tnext"), ElementsAre("(word", "\tnext"));
  EXPECT_THAT(split("end.\r\n\n  go"), ElementsAre("end", ".\r\n\n", " ", " go"));
  EXPECT_THAT(split(" \n \n x"), ElementsAre(" \n \n", " x"));
  EXPECT_THAT(split("\na"), ElementsAre("\n", "a"));
  EXPECT_THAT(split("'"), ElementsAre("'"));
}

TEST(PreTokenizerTest, RowsOfExpressions) {
  EXPECT_THAT(SplitWords(PreTokenizer::kLlama3, "1234 5"), ElementsAre("123", "4", " ", "5"));
  EXPECT_THAT(SplitWords(PreTokenizer::kStarCoder, "ab  12"), ElementsAre("ab", "  ", "1", "2"));
  EXPECT_THAT(SplitWords(PreTokenizer::kDefault, "a,b 12345"),
              ElementsAre("a", ",", "b", " ", "123", "45"));
  EXPECT_THAT(SplitWords(PreTokenizer::kFalcon, "x `y` 1234"),
              ElementsAre("x", " ", "`", "y", "`", " ", "123", "4"));
  EXPECT_THAT(SplitWords(PreTokenizer::kDeepSeekLlm, "hi  you\n42!"),
              ElementsAre("hi", " ", " you", "\n", "42", "!"));
  EXPECT_THAT(SplitWords(PreTokenizer::kDeepSeekCoder, "f(x)\n\n"),
              ElementsAre("f", "(", "x", ")", "\n", "\n"));
}

TEST(PreTokenizerTest, NamesAndWhatGoesWithThem) {
  EXPECT_EQ(PreTokenizerByName("future-splitter"), std::nullopt);
  EXPECT_EQ(PreTokenizerByName(""), std::nullopt);
  EXPECT_TRUE(PreTokenizerByName("llama-v3")->ignore_merges);
  EXPECT_TRUE(PreTokenizerByName("llama3")->add_bos);
  EXPECT_FALSE(PreTokenizerByName("smaug-bpe")->ignore_merges);
  EXPECT_EQ(PreTokenizerByName("command-r")->kind, PreTokenizer::kStarCoder);
  EXPECT_EQ(PreTokenizerByName("default")->kind, PreTokenizer::kDefault);
  EXPECT_TRUE(PreTokenizerByName("jina-v2-de")->mask_strips_left);
}

constexpr char kGpt2[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// DeepSeek LLM's list of letters.
constexpr char kDeepSeekLetters[] =
    "\\s?["
    "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-"
    "\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1"
    "\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-"
    "\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15"
    "\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D"
    "\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB"
    "\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D"
    "\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183"
    "\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B"
    "\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-"
    "\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB"
    "\U00010C80-\U00010CB2\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943"
    "]+";

// White space is left out of [\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+: llama.cpp does not see it
// as white space here.
constexpr char kIdeographs[] =
    "[\u0800-\u167F\u1681-\u1FFF\u200B-\u2027\u202A-\u202E\u2030-\u205E\u2060-\u2FFF"
    "\u3001-\u9FA5\uAC00-\uD7FF]+";

// The published expressions, each row in order.
const std::vector<std::pair<PreTokenizer, std::vector<std::string>>>& Expressions() {
  static const auto& kAll = *new std::vector<std::pair<PreTokenizer, std::vector<std::string>>>{
      {PreTokenizer::kGpt2, {kGpt2}},
      {PreTokenizer::kQwen2,
       {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
      // The expression of bailingmoe, which must give the same cuts.
      {PreTokenizer::kQwen2,
       {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}},
      {PreTokenizer::kQwen35,
       {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
      {PreTokenizer::kLlama3,
       {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
      {PreTokenizer::kSeedCoder,
       {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
      {PreTokenizer::kStarCoder, {R"(\p{N})", kGpt2}},
      {PreTokenizer::kFalcon, {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2, "[0-9][0-9][0-9]"}},
      {PreTokenizer::kDeepSeekLlm,
       {R"([\r\n])", kDeepSeekLetters,
        "\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3001\u3002]+", R"(\s+$)", kIdeographs,
        R"(\p{N}+)"}},
      {PreTokenizer::kDeepSeekCoder,
       {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kIdeographs, R"(\p{N})"}},
      {PreTokenizer::kDefault, {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
  };
  return kAll;
}

// Cuts every part at the matches of one expression, as the table defines.
std::vector<std::u32string> Cut(const test::BacktrackingRegex& regex,
                                const std::vector<std::u32string>& parts) {
  std::vector<std::u32string> out;
  for (const std::u32string& part : parts) {
    size_t done = 0;
    for (size_t at = 0; at < part.size();) {
      const auto end = regex.Match(part, at);
      if (!end || *end == at) {
        ++at;
        continue;
      }
      if (at > done) {
        out.push_back(part.substr(done, at - done));
      }
      out.push_back(part.substr(at, *end - at));
      done = at = *end;
    }
    if (done < part.size()) {
      out.push_back(part.substr(done));
    }
  }
  return out;
}

// Makes text with characters of every class; those that the expressions name occur often.
std::string RandomText(Random& random) {
  static const std::u32string kAlphabet =
      U"aZstdmrevl  '\n\r\t  0129!.,$+<=>^~|`(_-/:@[\u00A0\u0085\u3000\u2028\u4E00\u9FA5\u9FA6"
      U"\u0800\uAC00\uD7FF\u3002\u300C\uFF01\uFF21\u2019\u00B2\u2167\u0661\u0301\u0E33\u10D0\u10A0"
      U"\u01C5\u00AA\u0130\u017F\U0001D400\U0001F642\U000E0001\u0378\u200D\u2581\u00AD\u0007";
  std::string out;
  const uint64_t length = random.Below(24);
  for (uint64_t i = 0; i < length; ++i) {
    const uint64_t draw = random.Below(8 * kAlphabet.size());
    const auto any = static_cast<char32_t>(random.Below(0x11000));
    const bool surrogate = any >= 0xD800 && any < 0xE000;
    out += Utf8Of(draw % 8 == 0 && !surrogate ? any : kAlphabet[draw / 8]);
  }
  return out;
}

TEST(PreTokenizerTest, AgreesWithThePublishedExpressions) {
  Random random(17);
  std::vector<std::string> texts;
  for (int i = 0; i < 4000; ++i) {
    texts.push_back(RandomText(random));
  }
  for (const auto& [kind, row] : Expressions()) {
    std::vector<test::BacktrackingRegex> regexes;
    for (const std::string& expression : row) {
      regexes.emplace_back(expression);
    }
    for (const std::string& text : texts) {
      std::vector<std::u32string> expected = {test::CodePoints(text)};
      for (const auto& regex : regexes) {
        expected = Cut(regex, expected);
      }
      std::vector<std::u32string> actual;
      for (const std::string_view word : SplitWords(kind, text)) {
        actual.push_back(test::CodePoints(word));
      }
      std::erase(expected, U"");
      ASSERT_EQ(actual, expected) << "kind " << static_cast<int>(kind) << ", text \"" << text
                                  << "\"";
    }
  }
}

// A matcher that looked at the rest of a run for each of its characters would not finish.
TEST(PreTokenizerTest, LongRunsOfOneCharacterTakeLinearTime) {
  for (const char* character :
       {"7", " ", "\n", "a", "!", "'", "\u3000", "\u0661", "\u0301", "\xFF"}) {
    std::string text;
    while (text.size() < (size_t{1} << 20)) {
      text += character;
    }
    for (const auto& [kind, row] : Expressions()) {
      size_t bytes = 0;
      WordSplitter splitter(kind, text);
      for (std::string_view word; splitter.Next(&word);) {
        bytes += word.size();
      }
      EXPECT_EQ(bytes, text.size());
    }
  }
}

RC_GTEST_PROP(PreTokenizerProperty, WordsAreTheWholeText, (const std::string& text)) {
  for (const auto& [kind, row] : Expressions()) {
    std::string joined;
    for (const std::string_view word : SplitWords(kind, text)) {
      RC_ASSERT(!word.empty());
      joined += word;
    }
    RC_ASSERT(joined == text);
  }
}

}  // namespace
}  // namespace ruvd::inference
