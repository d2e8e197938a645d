// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/sentence_piece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "tests/inference/test_vocabulary.h"

namespace ruvd::inference {
namespace {

using test::TestVocabulary;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TokenId Byte(uint8_t byte) {
  return 3U + byte;
}

// The pieces " ", "a", "b", "ab", " a", " ab".
struct SmallPieces {
  SmallPieces() : vocabulary(TestVocabulary::Pieces()) {
    space = vocabulary.Add("▁", 1, -1);
    a = vocabulary.Add("a", 1, -2);
    b = vocabulary.Add("b", 1, -3);
    ab = vocabulary.Add("ab", 1, 5);
    space_a = vocabulary.Add("▁a", 1, 4);
    space_ab = vocabulary.Add("▁ab", 1, 3);
  }
  TestVocabulary vocabulary;
  TokenId space, a, b, ab, space_a, space_ab;
};

TEST(SentencePieceTest, MergesTheHighestScoreFirst) {
  SmallPieces small;
  const auto tokenizer = small.vocabulary.Build().value();
  EXPECT_THAT(tokenizer->Encode("ab"), ElementsAre(small.space_ab));
  EXPECT_THAT(tokenizer->Encode("aab"), ElementsAre(small.space_a, small.ab));
  EXPECT_THAT(tokenizer->Encode("a b"), ElementsAre(small.space_a, small.space, small.b));
  EXPECT_THAT(tokenizer->Encode(""), IsEmpty());
  // With equal scores, the leftmost pair is merged.
  SmallPieces ties;
  const TokenId aa = ties.vocabulary.Add("aa", 1, 9);
  ties.vocabulary.extra = [](GgufWriter* w) {
    w->SetBool("tokenizer.ggml.add_space_prefix", false);
  };
  EXPECT_THAT(ties.vocabulary.Build().value()->Encode("aaa"), ElementsAre(aa, ties.a));
}

TEST(SentencePieceTest, SpacePrefixAtTheStartAndBehindSpecialTokens) {
  SmallPieces small;
  const TokenId user = small.vocabulary.Add("[u]", TestVocabulary::kUserDefined);
  const auto tokenizer = small.vocabulary.Build().value();
  EXPECT_THAT(tokenizer->Encode("a[u]b a"),
              ElementsAre(small.space_a, user, small.space, small.b, small.space_a));
  EXPECT_THAT(tokenizer->Encode("<s>a", true), ElementsAre(1U, small.space_a));
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("a[u]b a")), "a[u]b a");
  small.vocabulary.extra = [](GgufWriter* w) {
    w->SetBool("tokenizer.ggml.add_space_prefix", false);
  };
  const auto plain = small.vocabulary.Build().value();
  EXPECT_THAT(plain->Encode("a a"), ElementsAre(small.a, small.space_a));
  EXPECT_EQ(plain->Decode(plain->Encode(" a a")), " a a");
}

TEST(SentencePieceTest, RemovesExtraSpacesWhereTheFileSaysSo) {
  SmallPieces small;
  small.vocabulary.extra = [](GgufWriter* w) {
    w->SetBool("tokenizer.ggml.remove_extra_whitespaces", true);
  };
  const auto tokenizer = small.vocabulary.Build().value();
  EXPECT_THAT(tokenizer->Encode("  a   ab  "), ElementsAre(small.space_a, small.space_ab));
  // No extra space is put between a text and its continuation.
  EXPECT_THAT(tokenizer->EncodeContinuation("  ab"), ElementsAre(small.space_ab));
  small.vocabulary.extra = [](GgufWriter* w) {
    w->SetBool("tokenizer.ggml.remove_extra_whitespaces", true);
    w->SetBool("tokenizer.ggml.add_space_prefix", false);
  };
  EXPECT_THAT(small.vocabulary.Build().value()->Encode("  a   ab  "),
              ElementsAre(small.a, small.space_ab));
}

TEST(SentencePieceTest, UnknownCharactersBecomeBytes) {
  const SmallPieces small;
  const auto tokenizer = small.vocabulary.Build().value();
  EXPECT_THAT(tokenizer->Encode("é\xFF"),
              ElementsAre(small.space, Byte(0xC3), Byte(0xA9), Byte(0xFF)));
  EXPECT_THAT(tokenizer->Encode("\x01"), ElementsAre(small.space, Byte(1)));
  TestVocabulary no_bytes;
  no_bytes.model = "llama";
  no_bytes.Add("<unk>", TestVocabulary::kUnknown);
  const TokenId a = no_bytes.Add("a");
  no_bytes.Add("▁");
  EXPECT_THAT(no_bytes.Build().value()->Encode("éa"), ElementsAre(2U, 0U, a));
}

// Found by tokenizer_fuzz: by convention the first token is the unknown one, even where it is not
// of that kind.
TEST(SentencePieceTest, TextNeverBecomesAControlTokenThatHappensToComeFirst) {
  TestVocabulary vocabulary;
  vocabulary.model = "llama";
  const TokenId control = vocabulary.Add("<s>", TestVocabulary::kControl);
  const TokenId a = vocabulary.Add("a");
  const TokenId space = vocabulary.Add("▁");
  EXPECT_THAT(vocabulary.Build().value()->Encode("éa"), ElementsAre(space, a));
  // The file may declare it to be the unknown token.
  vocabulary.extra = [](GgufWriter* writer) {
    writer->SetUnsigned32("tokenizer.ggml.unknown_token_id", 0);
  };
  EXPECT_THAT(vocabulary.Build().value()->Encode("éa"), ElementsAre(space, control, a));
}

TEST(SentencePieceTest, MergingNeverForgesASpecialToken) {
  SmallPieces small;
  // All intermediate pieces of "</s>", "[u]" and "<0x41>" exist.
  for (const char* piece : {"<", "/", "s", ">", "</", "</s", "0", "<0", "x", "<0x", "4", "1", "41",
                            "<0x41", "u", "n", "k"}) {
    small.vocabulary.Add(piece, 1, 7);
  }
  const auto tokenizer = small.vocabulary.Build().value();
  for (const char* text : {"</s>", "<s>", "<0x41>", "<unk>"}) {
    for (const TokenId token : tokenizer->Encode(text)) {
      EXPECT_GE(token, small.space) << text;
    }
    EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text)), text);
  }
}

TEST(SentencePieceTest, UnusedPiecesAreCutApartAgain) {
  SmallPieces small;
  const TokenId aba = small.vocabulary.Add("aba", TestVocabulary::kUnused, 9);
  const TokenId abab = small.vocabulary.Add("abab", 1, 8);
  const TokenId c = small.vocabulary.Add("ü", TestVocabulary::kUnused, 1);
  const auto tokenizer = small.vocabulary.Build().value();
  // "ab" merges first, then the unused piece, which leads on to "abab".
  EXPECT_THAT(tokenizer->Encode("abab"), ElementsAre(small.space, abab));
  EXPECT_THAT(tokenizer->Encode("aba"), ElementsAre(small.space, small.ab, small.a));
  EXPECT_THAT(tokenizer->Encode("ü"), ElementsAre(small.space, Byte(0xC3), Byte(0xBC)));
  EXPECT_TRUE(tokenizer->IsSpecial(aba));
  EXPECT_TRUE(tokenizer->IsSpecial(c));
}

TEST(SentencePieceTest, PiecesMayGoAcrossTheBeginningOfAWord) {
  SmallPieces small;
  const TokenId across = small.vocabulary.Add("b▁a", 1, 20);
  small.vocabulary.Add("b▁", 1, 19);
  const auto tokenizer = small.vocabulary.Build().value();
  EXPECT_THAT(tokenizer->Encode("ab ab"), ElementsAre(small.space_a, across, small.b));
}

// Regression test: what a model continues a text with begins with the space that belongs there, and
// with no other.
TEST(SentencePieceTest, ContinuationsHadASpaceTooMany) {
  SmallPieces small;
  const auto tokenizer = small.vocabulary.Build().value();
  EXPECT_THAT(tokenizer->EncodeContinuation(" ab"), ElementsAre(small.space_ab));
  EXPECT_THAT(tokenizer->EncodeContinuation("ab"), ElementsAre(small.ab));
  EXPECT_THAT(tokenizer->EncodePrompt("ab"), ElementsAre(1U, small.space_ab));
}

TEST(SentencePieceTest, DefaultsOfFilesWithoutIds) {
  const auto tokenizer = SmallPieces().vocabulary.Build().value();
  EXPECT_EQ(tokenizer->bos_id(), 1U);
  EXPECT_EQ(tokenizer->eos_id(), 2U);
  const std::vector<TextSegment> text = {{"a", false}};
  EXPECT_EQ(tokenizer->EncodeSegments(text, /*add_special=*/true)[0], 1U);
  EXPECT_EQ(tokenizer->EncodeSegments(text).size(), 1U);
}

// Regression test: see TokensSpelledAlikeWereRefused of tokenizer_test.cc. The last one is used,
// with its own score.
TEST(SentencePieceTest, PiecesSpelledAlikeWereRefused) {
  TestVocabulary vocabulary = TestVocabulary::Pieces();
  const TokenId space = vocabulary.Add("▁", 1, -1);
  vocabulary.Add("a", 1, -2);
  const TokenId b = vocabulary.Add("b", 1, -3);
  const TokenId ab = vocabulary.Add("ab", 1, 5);
  const TokenId first = vocabulary.Add("▁a", 1, 4);
  EXPECT_THAT(vocabulary.Build().value()->Encode("ab"), ElementsAre(space, ab));
  const TokenId last = vocabulary.Add("▁a", 1, 6);
  const TokenId byte = vocabulary.Add("<0x7A>", 6);
  vocabulary.Add("<0x7a>", 6);  // llama.cpp looks for digits in upper case only
  const auto tokenizer = vocabulary.Build().value();
  EXPECT_THAT(tokenizer->warnings(), ElementsAre(HasSubstr("2 tokens have the text")));
  EXPECT_THAT(tokenizer->Encode("ab"), ElementsAre(last, b));
  EXPECT_THAT(tokenizer->Encode("z"), ElementsAre(space, byte));
  const std::vector<TokenId> all = {ab, first, last, Byte('z'), byte};
  EXPECT_EQ(tokenizer->Decode(all), "ab a azz");
}

TEST(SentencePieceTest, RefusesWhatItWouldGetWrong) {
  const auto refusal = [](const std::function<void(TestVocabulary*)>& change) {
    SmallPieces small;
    change(&small.vocabulary);
    const absl::Status status = small.vocabulary.Build().status();
    EXPECT_EQ(ReasonOf(status), reasons::kTokenizerInvalid);
    return MessageOf(status);
  };
  EXPECT_THAT(refusal([](auto* v) { v->Add("<0xZZ>", 6); }), HasSubstr("<0x41>"));
  EXPECT_THAT(refusal([](auto* v) { v->Add("<0x4>", 6); }), HasSubstr("<0x41>"));
  EXPECT_THAT(refusal([](auto* v) { v->scores.pop_back(); }), HasSubstr("scores"));
  EXPECT_THAT(refusal([](auto* v) { v->scores[7] = NAN; }), HasSubstr("token 7"));
  EXPECT_THAT(refusal([](auto* v) { v->Add(std::string(513, 'x')); }), HasSubstr("513 bytes"));
}

// Defines the result by strings: merge the neighbours whose concatenation has the highest score.
std::vector<std::string> NaivePieces(const std::string& text,
                                     const std::map<std::string, float>& scores) {
  std::vector<std::string> parts;
  for (const char c : text) {
    parts.emplace_back(1, c);
  }
  while (true) {
    size_t best = parts.size();
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto here = scores.find(parts[i] + parts[i + 1]);
      if (here != scores.end() &&
          (best == parts.size() || here->second > scores.at(parts[best] + parts[best + 1]))) {
        best = i;
      }
    }
    if (best == parts.size()) {
      return parts;
    }
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

RC_GTEST_PROP(SentencePieceProperty, AgreesWithTheDefinition, ()) {
  const std::string letters = "ab ";
  std::map<std::string, float> scores = {{"a", 0}, {"b", 0}, {" ", 0}};
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
    const auto piece =
        *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(letters)));
    scores.emplace(piece.substr(0, 5), static_cast<float>(*rc::gen::inRange(0, 4)));
  }
  TestVocabulary vocabulary = TestVocabulary::Pieces();
  std::map<std::string, TokenId> ids;
  for (const auto& [piece, score] : scores) {
    std::string spelled;
    for (const char c : piece) {
      spelled += c == ' ' ? "▁" : std::string(1, c);
    }
    ids[piece] = vocabulary.Add(spelled, 1, score);
  }
  const auto tokenizer = vocabulary.Build().value();
  // The text is long enough for both ways of merging.
  const auto text = *rc::gen::scale(
      3.0, rc::gen::container<std::string>(rc::gen::elementOf(std::string("aab b"))));
  std::vector<TokenId> expected;
  for (const std::string& part : NaivePieces(text.empty() ? "" : " " + text, scores)) {
    expected.push_back(ids.at(part));
  }
  RC_ASSERT(tokenizer->Encode(text) == expected);
}

RC_GTEST_PROP(SentencePieceProperty, DecodingGivesBackEveryText, (const std::string& text)) {
  static const auto kTokenizer = SmallPieces().vocabulary.Build().value();
  RC_PRE(text.find("▁") == std::string::npos);
  RC_ASSERT(kTokenizer->Decode(kTokenizer->Encode(text)) == text);
}

}  // namespace
}  // namespace ruvd::inference
