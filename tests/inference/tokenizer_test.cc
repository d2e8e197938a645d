// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <sstream>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/writer.h"
#include "inference/tokenizer/bpe.h"
#include "inference/tokenizer/byte_alphabet.h"
#include "tests/conformance/zstd_file.h"
#include "tests/inference/test_vocabulary.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TokenId kAb = 256, kAbc = 257, kMask = 258, kEmoji = 259, kLong = 260, kPad = 261;

// The vocabulary has all bytes, two merges, and special tokens of every kind.
struct Vocabulary {
  Vocabulary() {
    for (int byte = 0; byte < 256; ++byte) {
      tokens.push_back(SpellBytes(std::string(1, static_cast<char>(byte))));
      types.push_back(1);
    }
    Add("ab", 1);
    Add("abc", 1);
    Add("<|mask|>", 3);
    Add("[user]", 4);
    Add("<|mask|>!", 3);
    Add("[pad]", 5);
  }
  void Add(const std::string& token, int type) {
    tokens.push_back(token);
    types.push_back(type);
  }
  absl::StatusOr<std::unique_ptr<Tokenizer>> Build() const {
    GgufWriter writer;
    writer.SetString("tokenizer.ggml.model", model);
    if (!pre.empty()) {
      writer.SetString("tokenizer.ggml.pre", pre);
    }
    writer.SetStringArray("tokenizer.ggml.tokens", tokens);
    writer.SetInt32Array("tokenizer.ggml.token_type", types);
    writer.SetStringArray("tokenizer.ggml.merges", merges);
    writer.SetUnsigned32("tokenizer.ggml.mask_token_id", mask);
    writer.SetUnsigned32("tokenizer.ggml.padding_token_id", kPad);
    const std::string file = writer.Serialize().value();
    return Tokenizer::FromGguf(*GgufReader::Parse(AsBytes(file)).value());
  }
  std::string model = "gpt2";
  std::string pre = "qwen2";
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<std::string> merges = {"a b", "ab c"};
  uint32_t mask = kMask;
};

std::unique_ptr<Tokenizer> Small() {
  return Vocabulary().Build().value();
}

TEST(TokenizerTest, MergesWithinWords) {
  const auto tokenizer = Small();
  EXPECT_THAT(tokenizer->Encode("abc"), ElementsAre(kAbc));
  EXPECT_THAT(tokenizer->Encode("abab"), ElementsAre(kAb, kAb));
  EXPECT_THAT(tokenizer->Encode("a bc"), ElementsAre('a', ' ', 'b', 'c'));
  EXPECT_THAT(tokenizer->Encode(""), ::testing::IsEmpty());
}

TEST(TokenizerTest, ControlTokensOnlyWhenAsked) {
  const auto tokenizer = Small();
  EXPECT_THAT(tokenizer->Encode("a<|mask|>b", true), ElementsAre('a', kMask, 'b'));
  EXPECT_THAT(tokenizer->Encode("<|mask|>").size(), 8U);
  // The longest special token wins, although it is not the first in the vocabulary.
  EXPECT_THAT(tokenizer->Encode("<|mask|>!<|mask|>", true), ElementsAre(kLong, kMask));
  // User-defined tokens are always found, unused ones never.
  EXPECT_THAT(tokenizer->Encode("[user]ab"), ElementsAre(kEmoji, kAb));
  EXPECT_EQ(tokenizer->Encode("[pad]", true).size(), 5U);
}

TEST(TokenizerTest, DecodeLeavesOutWhatIsNoText) {
  const auto tokenizer = Small();
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{kAb, kMask, kEmoji, kPad, 99999, 'c'}),
            "ab[user]c");
  EXPECT_EQ(tokenizer->Piece(kMask), "<|mask|>");
  EXPECT_EQ(tokenizer->Piece(99999), "");
  EXPECT_TRUE(tokenizer->IsSpecial(kMask));
  EXPECT_FALSE(tokenizer->IsSpecial(kEmoji));
  EXPECT_FALSE(tokenizer->IsSpecial('a'));
}

TEST(TokenizerTest, ReadsTheSpecialIds) {
  const auto tokenizer = Small();
  EXPECT_EQ(tokenizer->mask_id(), kMask);
  EXPECT_EQ(tokenizer->pad_id(), kPad);
  EXPECT_EQ(tokenizer->eos_id(), std::nullopt);
  EXPECT_EQ(tokenizer->bos_id(), std::nullopt);
  EXPECT_EQ(tokenizer->size(), 262U);
}

TEST(TokenizerTest, PromptsLackedTheBeginningOfTextToken) {
  auto vocabulary = test::TestVocabulary::Bytes();
  const TokenId bos = vocabulary.Add("<s>", test::TestVocabulary::kControl);
  const TokenId eos = vocabulary.Add("</s>", test::TestVocabulary::kControl);
  const auto build = [&](bool add) {
    vocabulary.extra = [=](GgufWriter* writer) {
      writer->SetUnsigned32("tokenizer.ggml.bos_token_id", bos);
      writer->SetUnsigned32("tokenizer.ggml.eos_token_id", eos);
      writer->SetBool("tokenizer.ggml.add_bos_token", add);
      writer->SetBool("tokenizer.ggml.add_eos_token", true);
    };
    return vocabulary.Build().value();
  };
  EXPECT_THAT(build(true)->EncodePrompt("ab"), ElementsAre(bos, 'a', 'b'));
  EXPECT_THAT(build(true)->EncodePrompt(""), ElementsAre(bos));
  EXPECT_EQ(build(true)->EncodePrompt("<s>").size(), 4U);  // a user's own is text
  EXPECT_THAT(build(true)->EncodeContinuation("ab"), ElementsAre('a', 'b'));
  EXPECT_THAT(build(false)->EncodePrompt("ab"), ElementsAre('a', 'b'));
  const std::vector<TextSegment> both = {{"</s>", true}, {"<s>a", false}};
  EXPECT_THAT(build(true)->EncodePrompt(both), ElementsAre(bos, eos, '<', 's', '>', 'a'));
  const std::vector<TextSegment> text = {{"a", false}};
  EXPECT_THAT(build(true)->EncodeSegments(text, /*add_special=*/true), ElementsAre(bos, 'a', eos));
}

TEST(TokenizerTest, TheEndOfATurnIsFoundByItsSpelling) {
  const auto found = [](const std::vector<std::string>& controls, int32_t kind) {
    auto vocabulary = test::TestVocabulary::Bytes();
    for (const std::string& control : controls) {
      vocabulary.Add(control, kind);
    }
    return vocabulary.Build().value()->end_of_turn_id();
  };
  constexpr int32_t kControl = test::TestVocabulary::kControl;
  EXPECT_EQ(found({"<|im_start|>", "<|im_end|>"}, kControl), 257U);
  EXPECT_EQ(found({"<|eot_id|>"}, kControl), 256U);
  EXPECT_EQ(found({"<|end|>"}, kControl), 256U);
  EXPECT_EQ(found({"<|im_end|>"}, test::TestVocabulary::kNormal), std::nullopt);
  EXPECT_EQ(found({}, kControl), std::nullopt);
}

TEST(TokenizerTest, AFileWithoutPreTokeniserIsReadWithAWarning) {
  Vocabulary vocabulary;
  EXPECT_THAT(vocabulary.Build().value()->warnings(), ::testing::IsEmpty());
  vocabulary.pre = "";
  const auto tokenizer = vocabulary.Build().value();
  EXPECT_THAT(tokenizer->warnings(), ElementsAre(HasSubstr("tokenizer.ggml.pre")));
  // The default rules group digits in threes and separate punctuation.
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("1234, ab")), "1234, ab");
}

TEST(TokenizerTest, Llama3TakesAWordThatIsATokenWhole) {
  Vocabulary vocabulary;
  vocabulary.merges.pop_back();  // "abc" can no longer be merged
  EXPECT_THAT(vocabulary.Build().value()->Encode("abc"), ElementsAre(kAb, 'c'));
  vocabulary.pre = "llama-bpe";
  EXPECT_THAT(vocabulary.Build().value()->Encode("abc"), ElementsAre(kAbc));
}

TEST(TokenizerTest, SegmentsAreOneTextWithTrustedParts) {
  const auto tokenizer = Small();
  const std::vector<TextSegment> segments = {
      {"<|mask|>a", true}, {"b<|mask|>", false}, {"c", true}};
  std::vector<TokenId> expected = {kMask, kAb};
  for (const char c : std::string("<|mask|>c")) {
    expected.push_back(static_cast<TokenId>(c));
  }
  EXPECT_EQ(tokenizer->EncodeSegments(segments), expected);
  // A special token is not recognised if a user wrote half of it.
  const std::vector<TextSegment> forged = {{"<|ma", true}, {"sk|>", false}};
  EXPECT_EQ(tokenizer->EncodeSegments(forged).size(), 8U);
  const std::vector<TextSegment> whole = {{"<|ma", true}, {"sk|>", true}};
  EXPECT_THAT(tokenizer->EncodeSegments(whole), ElementsAre(kMask));
}

TEST(TokenizerTest, RefusesWhatItWouldGetWrong) {
  const auto refusal = [](const std::function<void(Vocabulary*)>& change) {
    Vocabulary vocabulary;
    change(&vocabulary);
    const absl::Status status = vocabulary.Build().status();
    EXPECT_EQ(ReasonOf(status), reasons::kTokenizerInvalid);
    return MessageOf(status);
  };
  EXPECT_THAT(refusal([](auto* v) { v->pre = "future-splitter"; }), HasSubstr("future-splitter"));
  EXPECT_THAT(refusal([](auto* v) { v->model = "t5"; }), HasSubstr("\"t5\""));
  EXPECT_THAT(refusal([](auto* v) { v->types.pop_back(); }), HasSubstr("261 token types"));
  EXPECT_THAT(refusal([](auto* v) { v->types[3] = 77; }), HasSubstr("77"));
  EXPECT_THAT(refusal([](auto* v) { v->merges.push_back("abc"); }), HasSubstr("merge 2"));
  EXPECT_THAT(refusal([](auto* v) { v->merges.push_back(" b"); }), HasSubstr("merge 2"));
  EXPECT_THAT(refusal([](auto* v) { v->merges.push_back("\xFF b"); }), HasSubstr("merge 2"));
  EXPECT_THAT(refusal([](auto* v) { v->mask = 262; }), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(refusal([](auto* v) { v->Add(std::string(8193, 'x'), 1); }), HasSubstr("8193 bytes"));
}

// Regression test: a vocabulary that spells two tokens alike was refused, and files like that are
// published (google/gemma-4-31B-it-qat-q4_0-gguf repeats three texts). llama.cpp cannot say which
// token to use: up to build 10002 src/llama-vocab.cpp let the last of them replace the others in
// its map and then ended at the assertion that all differ (ggml-org/llama.cpp issue 25739); commit
// 00ad355e refuses the file with an error. Before it checked, the last was used (issue 413), and so
// it is here.
TEST(TokenizerTest, TokensSpelledAlikeWereRefused) {
  Vocabulary vocabulary;
  vocabulary.Add("ab", 1);
  vocabulary.Add("a", 1);
  const auto tokenizer = vocabulary.Build().value();
  EXPECT_THAT(tokenizer->warnings(),
              ElementsAre(HasSubstr("2 tokens have the text of a later token, such as 256, which "
                                    "is spelled like 262")));
  EXPECT_THAT(tokenizer->Encode("ab"), ElementsAre(262U));
  EXPECT_THAT(tokenizer->Encode("ba"), ElementsAre('b', 263U));
  EXPECT_THAT(tokenizer->Encode("abc"), ElementsAre(kAbc));
  const std::vector<TokenId> all = {kAb, 262, 'a', 263};
  EXPECT_EQ(tokenizer->Decode(all), "ababaa");
  vocabulary.pre = "llama-bpe";  // looks words up before it merges
  EXPECT_THAT(vocabulary.Build().value()->Encode("ab"), ElementsAre(262U));
}

// A control token never takes the place of a plain one, and a token that is not spelled in the
// alphabet of bytes takes the place of none.
TEST(TokenizerTest, OnlyPlainTokensTakeEachOthersPlace) {
  Vocabulary vocabulary;
  vocabulary.pre = "llama-bpe";
  vocabulary.Add("ab", 3);
  vocabulary.Add(" ", 1);
  const auto tokenizer = vocabulary.Build().value();
  EXPECT_THAT(tokenizer->warnings(), ::testing::IsEmpty());
  EXPECT_THAT(tokenizer->Encode("ab"), ElementsAre(kAb));
  EXPECT_THAT(tokenizer->Encode("ab", /*parse_special=*/true), ElementsAre(262U));
  EXPECT_THAT(tokenizer->Encode(" "), ElementsAre(' '));
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{263}), " ");
}

RC_GTEST_PROP(TokenizerProperty, DecodingGivesBackEveryText, (const std::string& text)) {
  static const auto kTokenizer = Small();
  RC_ASSERT(kTokenizer->Decode(kTokenizer->Encode(text)) == text);
}

// Defines the result in quadratic time: merge the pair of lowest rank, leftmost first, until no
// pair is left.
std::vector<std::string> NaiveMerge(const std::string& word,
                                    const std::vector<std::string>& merges) {
  std::vector<std::string> parts;
  for (const char c : word) {
    parts.emplace_back(1, c);
  }
  while (true) {
    size_t best_rank = merges.size();
    size_t best = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto at = std::find(merges.begin(), merges.end(), parts[i] + " " + parts[i + 1]);
      const auto rank = static_cast<size_t>(at - merges.begin());
      if (rank < best_rank) {
        best_rank = rank;
        best = i;
      }
    }
    if (best_rank == merges.size()) {
      return parts;
    }
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

RC_GTEST_PROP(BytePairProperty, QueueAgreesWithTheDefinition, ()) {
  // Makes random merges over three letters, each built from pieces that exist by then.
  std::vector<std::string> pieces = {"a", "b", "c"};
  std::vector<std::string> merges;
  WordTable ids;
  for (uint32_t id = 0; id < pieces.size(); ++id) {
    ids.Add(pieces[id], id);
  }
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    const std::string left = *rc::gen::elementOf(pieces);
    const std::string right = *rc::gen::elementOf(pieces);
    merges.push_back(left + " " + right);
    if (ids.Add(left + right, static_cast<uint32_t>(pieces.size()))) {
      pieces.push_back(left + right);
    }
  }
  const std::string word = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc")));
  std::vector<TokenId> actual;
  EncodeWorkspace workspace;
  const std::vector<std::string_view> lines(merges.begin(), merges.end());
  BytePairMerges::Create(ids, lines)->Encode(word, &workspace, &actual);
  std::vector<uint32_t> expected;
  for (const std::string& part : NaiveMerge(word, merges)) {
    expected.push_back(*ids.Find(part));
  }
  RC_ASSERT(actual == expected);
}

RC_GTEST_PROP(MergeTableProperty, LongWordsAreMergedLikeShortOnes, ()) {
  // Tries equal symbols in a word short enough to be searched, and followed by enough symbols that
  // never merge.
  MergeTable table;
  for (uint32_t i = *rc::gen::inRange(0U, 30U); i > 0; --i) {
    table.Add(*rc::gen::inRange(0U, 8U), *rc::gen::inRange(0U, 8U),
              {*rc::gen::inRange(0U, 10U), *rc::gen::inRange(0U, 8U)});
  }
  const auto word = *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange(0U, 8U));
  const uint32_t forbidden = *rc::gen::inRange(0U, 12U);
  RC_PRE(word.size() <= 40);
  MergeTable::Workspace workspace;
  std::vector<uint32_t> expected = word;
  table.Apply(&expected, &workspace, forbidden);
  std::vector<uint32_t> actual(60, 99);
  actual.insert(actual.end(), word.begin(), word.end());
  expected.insert(expected.begin(), 60, 99);
  table.Apply(&actual, &workspace, forbidden);
  RC_ASSERT(actual == expected);
}

TEST(BytePairTest, PiecesOutsideTheVocabularyFallBackToBytes) {
  WordTable ids;
  ids.Add("a", 7);
  ids.Add("b", 8);
  const std::vector<std::string_view> merges = {"a b"};
  std::vector<uint32_t> out;
  EncodeWorkspace workspace;
  BytePairMerges::Create(ids, merges)->Encode("abz", &workspace, &out);
  EXPECT_THAT(out, ElementsAre(7U, 8U));  // no token for z
}

// Texts and ids computed by llama.cpp, from ../shared.
class TokenizerVectorTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TokenizerVectorTest, IdsAreLlamaCpps) {
  const auto folder = std::filesystem::path(test::SourceDir()) / "../shared/fixtures/tokenizers";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is absent";
  }
  const std::string stem = (folder / GetParam()).string();
  const std::string file = ReadZstdFile(stem + ".gguf.zst", 32 << 20).value();
  const auto reader = GgufReader::Parse(AsBytes(file)).value();
  const auto tokenizer = Tokenizer::FromGguf(*reader);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  std::string rest = ReadFile(stem + ".inp", 1 << 20).value();
  std::istringstream expected(ReadFile(stem + ".out", 1 << 20).value());
  const std::string separator = "\n__ggml_vocab_test__\n";
  int cases = 0;
  for (size_t at = rest.find(separator); at != std::string::npos; at = rest.find(separator)) {
    const std::string text = rest.substr(0, at);
    rest.erase(0, at + separator.size());
    std::string line;
    ASSERT_TRUE(std::getline(expected, line));
    std::istringstream numbers(line);
    const std::vector<TokenId> ids{std::istream_iterator<TokenId>(numbers), {}};
    EXPECT_EQ((*tokenizer)->Encode(text), ids) << "text: " << text;
    EXPECT_EQ((*tokenizer)->Decode(ids), text);
    ++cases;
  }
  EXPECT_EQ(cases, 46);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerVectorTest,
                         ::testing::Values("qwen2", "gpt-2", "llama-bpe", "llama-spm"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace ruvd::inference
