// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/lesson_cutter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "node/limits.h"
#include "tests/inference/text_model.h"

namespace ruvd::learning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One token is one byte here.
constexpr CutOptions kShort{.most_tokens = 40, .least_tokens = 5};

const inference::Tokenizer& Bytes() {
  static const std::unique_ptr<inference::Tokenizer> tokenizer = test::ByteTokenizer();
  return *tokenizer;
}

std::vector<std::string> Texts(std::string_view bytes,
                               LessonFormat format = LessonFormat::kPlainText,
                               const CutOptions& options = kShort) {
  const auto file = CutLessons(bytes, format, Bytes(), options);
  EXPECT_TRUE(file.ok()) << file.status();
  std::vector<std::string> texts;
  for (const CutLesson& lesson : file.ok() ? file->lessons : std::vector<CutLesson>()) {
    texts.push_back(lesson.text);
  }
  return texts;
}

absl::Status Refusal(std::string_view bytes, LessonFormat format = LessonFormat::kPlainText) {
  return CutLessons(bytes, format, Bytes(), kShort).status();
}

TEST(LessonFormatTest, IsSaidByTheName) {
  EXPECT_EQ(LessonFormatOf("notes.txt"), LessonFormat::kPlainText);
  EXPECT_EQ(LessonFormatOf("a.b/README"), LessonFormat::kPlainText);
  EXPECT_EQ(LessonFormatOf("a/b.md"), LessonFormat::kMarkdown);
  EXPECT_EQ(LessonFormatOf("pairs.jsonl"), LessonFormat::kJsonLines);
  EXPECT_EQ(LessonFormatOf("README.MD"), LessonFormat::kMarkdown);
  EXPECT_EQ(LessonFormatOf("letter.docx"), std::nullopt);
  EXPECT_EQ(LessonFormatOf("photo.JPG"), std::nullopt);
}

TEST(LessonCutterTest, ParagraphsAreJoinedWhileTheyFit) {
  EXPECT_THAT(Texts("One small note.\n\nAnother one.\n\nThis paragraph fits no more."),
              ElementsAre("One small note.\n\nAnother one.", "This paragraph fits no more."));
}

TEST(LessonCutterTest, LongParagraphsAreCutAtSentencesAndWords) {
  EXPECT_THAT(Texts("The first sentence is here. The second one follows it. Third."),
              ElementsAre("The first sentence is here.", "The second one follows it. Third."));
  EXPECT_THAT(
      Texts("A sentence without any stop that just goes on and on for quite some time"),
      ElementsAre("A sentence without any stop that just", "goes on and on for quite some time"));
}

TEST(LessonCutterTest, AWordWithoutBlanksIsCutBetweenCharacters) {
  const std::string word = "žluťoučký";  // 13 bytes
  const std::vector<std::string> texts = Texts(word + word + word + word + word + word);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0] + texts[1], word + word + word + word + word + word);
  EXPECT_TRUE(IsUtf8(texts[0]));
}

TEST(LessonCutterTest, LineEndsAndBlanksAreNormalised) {
  EXPECT_THAT(Texts("\xEF\xBB\xBFOne line \t\r\nthe next\r\n\r\n\r\n\r\nthe last"),
              ElementsAre("One line\nthe next\n\nthe last"));
}

TEST(LessonCutterTest, ShortPiecesJoinANeighbourOrAreCounted) {
  EXPECT_THAT(Texts("Thirty eight characters are here now.\n\nEnd."),
              ElementsAre("Thirty eight characters are here now.\n\nEnd."))
      << "a quarter more than a lesson is allowed for a rest";
  const auto file = CutLessons("abc", LessonFormat::kPlainText, Bytes(), kShort);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->lessons.empty());
  EXPECT_EQ(file->too_short, 1U);
  EXPECT_EQ(CutLessons("", LessonFormat::kPlainText, Bytes(), kShort)->too_short, 0U);
}

TEST(LessonCutterTest, AHeadingStaysWithItsText) {
  EXPECT_THAT(Texts("---\ntitle: x\n---\nIntro text.\n# Dose\n\nTake one.\n## Night\nSleep.",
                    LessonFormat::kMarkdown),
              ElementsAre("Intro text.", "# Dose\n\nTake one.", "## Night\nSleep."));
  EXPECT_THAT(Texts("Intro text.\n# Dose\n\nTake one."),
              ElementsAre("Intro text.\n# Dose\n\nTake one."))
      << "plain text has no headings";
}

TEST(LessonCutterTest, ARuleAtTheBeginningIsNoFrontMatter) {
  EXPECT_THAT(Texts("---\n\nThe first part.\n\n---\n\nThe second part.", LessonFormat::kMarkdown,
                    {.most_tokens = 100, .least_tokens = 5}),
              ElementsAre("---\n\nThe first part.\n\n---\n\nThe second part."));
  EXPECT_THAT(Texts("---\ntitle: x\n---", LessonFormat::kMarkdown), ElementsAre());
}

// Found by review: these took time in the square of their length.
TEST(LessonCutterTest, LongRunsOfOneCharacterTakeLinearTime) {
  constexpr size_t kBytes = 4 << 20;
  for (const char c : {'#', ' ', '\n', 'x', '`'}) {
    for (const LessonFormat format : {LessonFormat::kPlainText, LessonFormat::kMarkdown}) {
      EXPECT_TRUE(CutLessons(std::string(kBytes, c) + "x", format, Bytes(), kShort).ok());
    }
  }
  std::string sentences;
  while (sentences.size() < kBytes) {
    sentences += std::string(60, 'x') + "\xE3\x80\x82";  // a full stop without a blank after it
  }
  EXPECT_GT(Texts(sentences).size(), kBytes / 64);
}

TEST(LessonCutterTest, ABlankPairCountsAsTooShort) {
  const auto file =
      CutLessons(R"({"prompt": "p", "text": " "})", LessonFormat::kJsonLines, Bytes());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->lessons.empty());
  EXPECT_EQ(file->too_short, 1U);
}

TEST(LessonCutterTest, AFencedBlockStaysWhole) {
  EXPECT_THAT(
      Texts("A text before the block is here.\n\n```\na = 1\n\n# no heading\nb = 2\n```",
            LessonFormat::kMarkdown),
      ElementsAre("A text before the block is here.", "```\na = 1\n\n# no heading\nb = 2\n```"));
}

TEST(LessonCutterTest, LinesOfJsonAreTextsOrPairs) {
  const auto file = CutLessons(R"({"text": "A lone text.", "id": 7})"
                               "\n\n"
                               R"({"prompt": "Dose?", "text": "One."})"
                               "\n",
                               LessonFormat::kJsonLines, Bytes(), kShort);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->lessons,
              ElementsAre(CutLesson{"", "A lone text."}, CutLesson{"Dose?", "One."}));
}

TEST(LessonCutterTest, BadLinesAreNamed) {
  for (const char* line :
       {"{\"text\": 5}", "[1]", "{\"text\": \"a\", \"prompt\": 1}", "nonsense"}) {
    const absl::Status status =
        Refusal("{\"text\": \"fine\"}\n" + std::string(line), LessonFormat::kJsonLines);
    EXPECT_EQ(ReasonOf(status), reasons::kFileUnreadable) << line;
    EXPECT_THAT(MessageOf(status), HasSubstr("line 2")) << line;
  }
  const std::string large(limits::kMaxLessonPairBytes, 'x');
  EXPECT_EQ(
      ReasonOf(Refusal(R"({"prompt": "p", "text": ")" + large + "\"}", LessonFormat::kJsonLines)),
      reasons::kLimitExceeded);
}

TEST(LessonCutterTest, WhatIsNoTextIsRefusedWithThePlace) {
  EXPECT_THAT(MessageOf(Refusal(std::string("ab\0c", 4))), HasSubstr("byte 2 is zero"));
  EXPECT_THAT(MessageOf(Refusal("ab\xFF")), HasSubstr("byte 2 is not UTF-8"));
  EXPECT_THAT(MessageOf(Refusal("\xFF\xFE")), HasSubstr("UTF-16"));
  EXPECT_THAT(MessageOf(Refusal("\x01\x02 text")), HasSubstr("control characters"));
  EXPECT_EQ(ReasonOf(Refusal(std::string(limits::kMaxLessonFileBytes + 1, 'x'))),
            reasons::kLimitExceeded);
}

// No text is lost: the pieces hold every character that is no blank, in order, except in pieces
// that were too short.
RC_GTEST_PROP(LessonCutterProperty, LosesNothingAndKeepsTheLimit, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
      std::vector<std::string>{"a", "word", "žluť", ".", "\n", "\n\n", "# head\n", "```\n", "。",
                               "a-very-long-word-that-fits-into-no-lesson-of-forty-bytes"}));
  std::string text;
  for (const std::string& word : words) {
    text += word + *rc::gen::elementOf(std::vector<std::string>{" ", "", "\r\n"});
  }
  const auto format = *rc::gen::element(LessonFormat::kPlainText, LessonFormat::kMarkdown);
  const auto file = CutLessons(text, format, Bytes(), {.most_tokens = 40, .least_tokens = 1});
  RC_ASSERT(file.ok());
  const auto visible = [](std::string part) {
    std::erase_if(part, [](char c) { return c == ' ' || c == '\n' || c == '\r'; });
    return part;
  };
  std::string joined;
  for (const CutLesson& lesson : file->lessons) {
    RC_ASSERT(lesson.text.size() <= 50U);
    joined += visible(lesson.text);
  }
  RC_ASSERT(joined == visible(text));
}

}  // namespace
}  // namespace ruvd::learning
