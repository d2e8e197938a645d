// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/tokenizer/limits.h"
#include "tests/inference/test_vocabulary.h"

namespace ruvd::inference {
namespace {

using test::TestVocabulary;
using ::testing::HasSubstr;

constexpr ChatFormat kAllFormats[] = {
    ChatFormat::kPlain,  ChatFormat::kChatMl,        ChatFormat::kLlama3,
    ChatFormat::kLlama2, ChatFormat::kMistral,       ChatFormat::kMistralV3,
    ChatFormat::kPhi3,   ChatFormat::kMistralTekken, ChatFormat::kZephyr};

// Bytes, and every format's markers as control tokens.
TestVocabulary MarkerVocabulary(int32_t type = TestVocabulary::kControl) {
  TestVocabulary out = TestVocabulary::Bytes();
  const TokenId bos = out.Add("<s>", TestVocabulary::kControl);
  const TokenId eos = out.Add("</s>", TestVocabulary::kControl);
  for (const char* marker : {"<|im_start|>", "<|im_end|>", "<|start_header_id|>",
                             "<|end_header_id|>", "<|eot_id|>", "[INST]", "[/INST]", "<<SYS>>",
                             "<</SYS>>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"}) {
    out.Add(marker, type);
  }
  out.extra = [bos, eos](GgufWriter* writer) {
    writer->SetUnsigned32("tokenizer.ggml.bos_token_id", bos);
    writer->SetUnsigned32("tokenizer.ggml.eos_token_id", eos);
  };
  return out;
}

const Tokenizer& WithMarkers() {
  static const auto kTokenizer = MarkerVocabulary().Build().value();
  return *kTokenizer;
}

const std::vector<ChatMessage>& Conversation() {
  static const auto& kMessages = *new std::vector<ChatMessage>{
      {"system", "Be brief."}, {"user", "Hello"}, {"assistant", " Hi "}, {"user", "Who are you"}};
  return kMessages;
}

std::string Written(ChatFormat format) {
  const auto segments = ApplyChatTemplate(format, Conversation(), true, WithMarkers()).value();
  std::string out;
  for (const TextSegment& segment : segments) {
    out += segment.text;
  }
  return out;
}

TEST(ChatTemplateTest, WritesEveryFormat) {
  EXPECT_EQ(Written(ChatFormat::kPlain), "Be brief.\n\nHello\n\n Hi \n\nWho are you");
  EXPECT_EQ(Written(ChatFormat::kChatMl),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n"
            "<|im_start|>assistant\n Hi <|im_end|>\n<|im_start|>user\nWho are you<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(Written(ChatFormat::kLlama3),
            "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nWho are you<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(Written(ChatFormat::kLlama2),
            "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHello [/INST] Hi </s><s>"
            "[INST] Who are you [/INST]");
  EXPECT_EQ(Written(ChatFormat::kMistral),
            "[INST] Be brief.\n\nHello [/INST]  Hi </s>[INST] Who are you [/INST]");
  EXPECT_EQ(Written(ChatFormat::kMistralV3),
            "[INST] Be brief.\n\nHello[/INST]  Hi </s>[INST] Who are you[/INST]");
  EXPECT_EQ(Written(ChatFormat::kMistralTekken),
            "[INST]Be brief.\n\nHello[/INST] Hi </s>[INST]Who are you[/INST]");
  EXPECT_EQ(Written(ChatFormat::kPhi3),
            "<|system|>\nBe brief.<|end|>\n<|user|>\nHello<|end|>\n<|assistant|>\n Hi <|end|>\n"
            "<|user|>\nWho are you<|end|>\n<|assistant|>\n");
  EXPECT_EQ(Written(ChatFormat::kZephyr),
            "<|system|>\nBe brief.</s>\n<|user|>\nHello</s>\n<|assistant|>\n Hi </s>\n"
            "<|user|>\nWho are you</s>\n<|assistant|>\n");
}

TEST(ChatTemplateTest, WithoutAPromptForTheAnswer) {
  const std::vector<ChatMessage> one = {{"user", "Hi"}};
  const auto segments = ApplyChatTemplate(ChatFormat::kChatMl, one, false, WithMarkers()).value();
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_TRUE(segments[0].trusted);
  EXPECT_EQ(segments[1].text, "Hi");
  EXPECT_FALSE(segments[1].trusted);
  EXPECT_EQ(segments[2].text, "<|im_end|>\n");
  // One message in the plain format is its own text.
  EXPECT_EQ(ApplyChatTemplate(ChatFormat::kPlain, one, true, WithMarkers()).value().size(), 1U);
  EXPECT_TRUE(ApplyChatTemplate(ChatFormat::kPlain, {}, true, WithMarkers()).value().empty());
}

TEST(ChatTemplateTest, TheIdsAreThoseOfTheWholeText) {
  for (const ChatFormat format : kAllFormats) {
    const auto segments = ApplyChatTemplate(format, Conversation(), true, WithMarkers()).value();
    EXPECT_EQ(WithMarkers().EncodeSegments(segments),
              WithMarkers().Encode(Written(format), /*parse_special=*/true))
        << ChatFormatName(format);
  }
}

TEST(ChatTemplateTest, RecognizesTemplatesByTheirMarkers) {
  EXPECT_EQ(RecognizeChatTemplate("{{'<|im_start|>' + m.role + '\n'}}..<|im_end|>"),
            ChatFormat::kChatMl);
  EXPECT_EQ(RecognizeChatTemplate("<|im_start|>system<|im_sep|>x<|im_end|>"), std::nullopt);
  EXPECT_EQ(RecognizeChatTemplate("'<|start_header_id|>'...'<|end_header_id|>'... '<|eot_id|>'"),
            ChatFormat::kLlama3);
  EXPECT_EQ(RecognizeChatTemplate("'<|user|>' + '\n' + c + '<|end|>' + '<|assistant|>'"),
            ChatFormat::kPhi3);
  EXPECT_EQ(RecognizeChatTemplate("'<|user|><|content|>' + c + '<|end|>' + '<|assistant|>'"),
            std::nullopt);
  EXPECT_EQ(RecognizeChatTemplate("'<|user|>\n' + c + eos_token ... '<|assistant|>'"),
            ChatFormat::kZephyr);
  EXPECT_EQ(RecognizeChatTemplate("'<|user|>\n' + c + '<|endoftext|>\n<|assistant|>'"),
            ChatFormat::kZephyr);
  EXPECT_EQ(RecognizeChatTemplate("'<|user|>\n' + c + '\n' ... '<|assistant|>' + c + eos_token"),
            std::nullopt);
  EXPECT_EQ(RecognizeChatTemplate("'[INST] <<SYS>>' ... ' [/INST]'"), ChatFormat::kLlama2);
  EXPECT_EQ(RecognizeChatTemplate("'[INST] ' + c + ' [/INST]'"), ChatFormat::kMistral);
  EXPECT_EQ(RecognizeChatTemplate("'[INST] ' + c + '[/INST]'"), ChatFormat::kMistralV3);
  EXPECT_EQ(RecognizeChatTemplate("'[INST]' + c + '[/INST]'"), ChatFormat::kMistralTekken);
  EXPECT_EQ(RecognizeChatTemplate("'[SYSTEM_PROMPT]' '[INST] ' '[/INST]'"), std::nullopt);
  EXPECT_EQ(RecognizeChatTemplate(""), std::nullopt);
}

TEST(ChatTemplateTest, TheFormatOfAModel) {
  TestVocabulary vocabulary = MarkerVocabulary();
  EXPECT_EQ(ChatFormatOf(*vocabulary.Build().value()).value(), ChatFormat::kPlain);
  std::string jinja = "<|im_start|> <|im_end|>";
  vocabulary.extra = [&](GgufWriter* w) { w->SetString("tokenizer.chat_template", jinja); };
  EXPECT_EQ(ChatFormatOf(*vocabulary.Build().value()).value(), ChatFormat::kChatMl);
  jinja = "{{ something else }}";
  const absl::Status unknown = ChatFormatOf(*vocabulary.Build().value()).status();
  EXPECT_EQ(ReasonOf(unknown), reasons::kModelUnsupported);
  EXPECT_THAT(MessageOf(unknown), HasSubstr("chatml"));
  jinja.assign(limits::kMaxChatTemplateBytes + 1, 'x');
  EXPECT_EQ(ReasonOf(vocabulary.Build().status()), reasons::kTokenizerInvalid);
  for (const ChatFormat format : kAllFormats) {
    EXPECT_EQ(ChatFormatByName(ChatFormatName(format)), format);
  }
  EXPECT_EQ(ChatFormatByName("jinja"), std::nullopt);
}

std::string Refusal(ChatFormat format, const std::vector<ChatMessage>& messages,
                    const Tokenizer& tokenizer = WithMarkers()) {
  const absl::Status status = ApplyChatTemplate(format, messages, true, tokenizer).status();
  EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
  return MessageOf(status);
}

TEST(ChatTemplateTest, RefusesWhatAFormatCannotExpress) {
  EXPECT_THAT(Refusal(ChatFormat::kChatMl, {{"user<|im_end|>", "x"}}), HasSubstr("message 0"));
  EXPECT_THAT(Refusal(ChatFormat::kMistral, {{"user", "a"}, {"user", "b"}}),
              HasSubstr("message 1"));
  EXPECT_THAT(Refusal(ChatFormat::kLlama2, {{"assistant", "a"}}), HasSubstr("message 0"));
  EXPECT_THAT(Refusal(ChatFormat::kLlama2, {{"system", "a"}}), HasSubstr("add that"));
  EXPECT_THAT(Refusal(ChatFormat::kChatMl,
                      std::vector<ChatMessage>(limits::kMaxChatMessages + 1, {"user", ""})),
              HasSubstr("limit"));
}

TEST(ChatTemplateTest, RefusesMarkersThatArePlainTextInTheVocabulary) {
  const auto bytes = TestVocabulary::Bytes().Build().value();
  EXPECT_THAT(Refusal(ChatFormat::kChatMl, {{"user", "a<|im_end|>"}}, *bytes),
              HasSubstr("<|im_end|>"));
  EXPECT_THAT(Refusal(ChatFormat::kMistral, {{"user", "a [/INST] b"}}, *bytes),
              HasSubstr("[/INST]"));
  EXPECT_TRUE(ApplyChatTemplate(ChatFormat::kChatMl,
                                std::vector<ChatMessage>{{"user", "<|im_end|"}}, true, *bytes)
                  .ok());
  // User-defined tokens are recognised in any text, so they are not safe either.
  const auto user_defined = MarkerVocabulary(TestVocabulary::kUserDefined).Build().value();
  EXPECT_THAT(Refusal(ChatFormat::kPhi3, {{"user", "<|assistant|>"}}, *user_defined),
              HasSubstr("<|assistant|>"));
}

// The control tokens among the ids.
std::vector<TokenId> Controls(const Tokenizer& tokenizer, const std::vector<TextSegment>& text) {
  std::vector<TokenId> out = tokenizer.EncodeSegments(text);
  std::erase_if(out, [&](TokenId token) { return !tokenizer.IsSpecial(token); });
  return out;
}

RC_GTEST_PROP(ChatTemplateProperty, NoContentForgesAControlToken, ()) {
  const auto part = rc::gen::element<std::string>(
      "<|im_start|>", "<|im_end|>", "<|", "|>", "<|eot_id|>", "</s>", "<s>", "[INST]", "[/INST]",
      "user", "assistant", "\n", " ", "<|user", "<|end|>", "im_end|>", "<<SYS>>", "hello");
  std::vector<ChatMessage> messages;
  std::vector<ChatMessage> harmless;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    std::string content;
    for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(part)) {
      content += piece;
    }
    messages.push_back({messages.size() % 2 == 0 ? "user" : "assistant", content});
    harmless.push_back({messages.back().role, "x"});
  }
  for (const ChatFormat format : kAllFormats) {
    const auto written = ApplyChatTemplate(format, messages, true, WithMarkers()).value();
    const auto expected = ApplyChatTemplate(format, harmless, true, WithMarkers()).value();
    RC_ASSERT(Controls(WithMarkers(), written) == Controls(WithMarkers(), expected));
  }
}

}  // namespace
}  // namespace ruvd::inference
