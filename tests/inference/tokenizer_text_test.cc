// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the parts of the tokenizer: character classes, UTF-8, the byte alphabet.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/utf8.h"
#include "inference/tokenizer/byte_alphabet.h"
#include "inference/tokenizer/unicode.h"
#include "inference/tokenizer/utf8_assembler.h"

namespace ruvd::inference {
namespace {

TEST(UnicodeTest, ClassesOfKnownCharacters) {
  EXPECT_EQ(ClassOf('a'), CharClass::kLetter);
  EXPECT_EQ(ClassOf('7'), CharClass::kNumber);
  EXPECT_EQ(ClassOf('!'), CharClass::kPunctuation);
  EXPECT_EQ(ClassOf('+'), CharClass::kSymbol);
  EXPECT_EQ(ClassOf('\n'), CharClass::kWhiteSpace);
  EXPECT_EQ(ClassOf('\0'), CharClass::kOther);
  EXPECT_EQ(ClassOf(0x85), CharClass::kWhiteSpace);    // next line
  EXPECT_EQ(ClassOf(0x301), CharClass::kMark);         // combining acute
  EXPECT_EQ(ClassOf(0x3000), CharClass::kWhiteSpace);  // ideographic space
  EXPECT_EQ(ClassOf(0x200B), CharClass::kOther);       // zero width space is a format character
  EXPECT_EQ(ClassOf(0x4E00), CharClass::kLetter);      // first of a range
  EXPECT_EQ(ClassOf(0x9FFF), CharClass::kLetter);      // last of a range
  EXPECT_EQ(ClassOf(0xD800), CharClass::kOther);       // surrogate
  EXPECT_EQ(ClassOf(0x2167), CharClass::kNumber);      // roman numeral
  EXPECT_EQ(ClassOf(0x1F642), CharClass::kSymbol);     // emoji
  EXPECT_EQ(ClassOf(0x10FFFF), CharClass::kOther);
  EXPECT_EQ(ClassOf(0x110000), CharClass::kOther);
  EXPECT_EQ(ClassOf(0xFFFFFFFF), CharClass::kOther);
}

std::string Assembled(std::string_view text, size_t step) {
  Utf8Assembler assembler;
  std::string out;
  for (size_t i = 0; i < text.size(); i += step) {
    out += assembler.Append(text.substr(i, step));
  }
  return out + assembler.Finish();
}

TEST(Utf8AssemblerTest, HoldsBackHalfCharacters) {
  Utf8Assembler assembler;
  EXPECT_EQ(assembler.Append("a\xF0\x9F"), "a");
  EXPECT_EQ(assembler.Append("\x99"), "");
  EXPECT_EQ(assembler.Append("\x82!"), "\U0001F642!");
  EXPECT_EQ(assembler.Finish(), "");
  EXPECT_EQ(assembler.Append("\xE2\x82"), "");
  EXPECT_EQ(assembler.Finish(), "\uFFFD");
  EXPECT_EQ(assembler.Finish(), "");
}

TEST(Utf8AssemblerTest, ReplacesInvalidBytesAsUnicodeRecommends) {
  // The example of the Unicode standard, table 3-8.
  EXPECT_EQ(Assembled("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", 3),
            "a\uFFFD\uFFFD\uFFFD"
            "b\uFFFD"
            "c\uFFFD\uFFFD"
            "d");
  EXPECT_EQ(Assembled("\xC0\xAF", 1), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(Assembled("\xED\xA0\x80", 1), "\uFFFD\uFFFD\uFFFD");  // surrogate
  EXPECT_EQ(Assembled("\xF4\x90\x80\x80", 2), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char next = FirstUtf8Char(text);
    if (next.state != Utf8Char::State::kValid) {
      return false;
    }
    text.remove_prefix(next.length);
  }
  return true;
}

RC_GTEST_PROP(Utf8AssemblerProperty, AlwaysValidAndIndependentOfTheCuts, ()) {
  // Lead and continuation bytes are frequent enough to reach every state.
  const auto text = *rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::arbitrary<char>(),
      rc::gen::elementOf(std::string("a\x80\x9F\xA0\xBF\xC2\xE0\xE2\xED\xF0\xF4\xF5"))));
  const std::string whole = Assembled(text, text.size() + 1);
  RC_ASSERT(IsValidUtf8(whole));
  RC_ASSERT(Assembled(text, *rc::gen::inRange<size_t>(1, 5)) == whole);
  if (IsValidUtf8(text)) {
    RC_ASSERT(whole == text);
  }
}

TEST(Utf8Test, WritesWhatItReads) {
  for (uint32_t code_point = 0; code_point < 0x110000; code_point += code_point < 0x900 ? 1 : 97) {
    if (code_point >= 0xD800 && code_point < 0xE000) {
      continue;
    }
    const std::string bytes = Utf8Of(code_point);
    const Utf8Char read = FirstUtf8Char(bytes);
    ASSERT_EQ(read.state, Utf8Char::State::kValid) << code_point;
    ASSERT_EQ(read.code_point, code_point);
    ASSERT_EQ(read.length, bytes.size());
  }
}

TEST(ByteAlphabetTest, KnownSpellings) {
  EXPECT_EQ(SpellBytes(" a\n"), "\u0120a\u010A");
  EXPECT_EQ(SpellBytes(std::string_view("\0\xAD\xFF", 3)), "\u0100\u0143\u00FF");
  EXPECT_EQ(BytesOfSpelling("\u0120caf\u00C3\u00A9"), " caf\xC3\xA9");
  EXPECT_EQ(BytesOfSpelling("with space"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("\u0144"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("\xFF"), std::nullopt);
}

TEST(ByteAlphabetTest, SpellsEveryByteDifferently) {
  std::set<std::string> spellings;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string raw(1, static_cast<char>(byte));
    spellings.insert(SpellBytes(raw));
    EXPECT_EQ(BytesOfSpelling(SpellBytes(raw)), raw);
  }
  EXPECT_EQ(spellings.size(), 256U);
}

}  // namespace
}  // namespace ruvd::inference
