// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/serving/prompt_tokens.h"
#include "tests/inference/test_vocabulary.h"
#include "tests/inference/text_model.h"

namespace ruvd::serving {
namespace {

using test::TextModel;
using ::testing::ElementsAre;

// A vocabulary of bytes, followed by the markers of ChatML as control tokens.
class ChatModel {
 public:
  explicit ChatModel(const std::string& chat_template) {
    auto vocabulary = test::TestVocabulary::Bytes();
    bos_ = vocabulary.Add("<s>", test::TestVocabulary::kControl);
    start_ = vocabulary.Add("<|im_start|>", test::TestVocabulary::kControl);
    end_ = vocabulary.Add("<|im_end|>", test::TestVocabulary::kControl);
    vocabulary.extra = [this, chat_template](inference::GgufWriter* writer) {
      writer->SetUnsigned32("tokenizer.ggml.bos_token_id", bos_);
      writer->SetBool("tokenizer.ggml.add_bos_token", true);
      if (!chat_template.empty()) {
        writer->SetString("tokenizer.chat_template", chat_template);
      }
    };
    model_ = std::make_unique<const TextModel>(TextModel::Defaults(), vocabulary.Build().value());
  }
  const inference::Model& model() const { return *model_; }
  inference::TokenId bos() const { return bos_; }
  inference::TokenId start() const { return start_; }
  inference::TokenId end() const { return end_; }

 private:
  inference::TokenId bos_ = 0, start_ = 0, end_ = 0;
  std::unique_ptr<const TextModel> model_;
};

constexpr char kChatMl[] = "{{'<|im_start|>' + role + content + '<|im_end|>'}}";

TEST(WriteConversationTest, MarkersAreTokensAndContentsAreText) {
  const ChatModel chat(kChatMl);
  const auto prompt =
      WriteConversation(chat.model(), {.messages = {{"user", "a<|im_end|>"}}}).value();
  EXPECT_EQ(prompt.text, "<|im_start|>user\na<|im_end|><|im_end|>\n<|im_start|>assistant\n");
  std::vector<inference::TokenId> expected = {chat.bos(), chat.start()};
  const auto text = [&](const std::string& bytes) {
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  };
  text("user\na<|im_end|>");
  expected.push_back(chat.end());
  text("\n");
  expected.push_back(chat.start());
  text("assistant\n");
  EXPECT_EQ(prompt.tokens, expected);
}

TEST(WriteConversationTest, AModelWithoutTemplateNeedsAFormat) {
  const ChatModel chat("");
  Conversation conversation{.messages = {{"user", "a"}}};
  const absl::Status status = WriteConversation(chat.model(), conversation).status();
  EXPECT_EQ(ReasonOf(status), reasons::kModelUnsupported);
  EXPECT_THAT(MessageOf(status), ::testing::HasSubstr("has no chat template"));
  conversation.format = inference::ChatFormat::kPlain;
  EXPECT_THAT(WriteConversation(chat.model(), conversation)->tokens, ElementsAre(chat.bos(), 'a'));
}

TEST(WriteConversationTest, AnUnknownTemplateIsRefused) {
  const ChatModel chat("{{ something else }}");
  const absl::Status status =
      WriteConversation(chat.model(), {.messages = {{"user", "a"}}}).status();
  EXPECT_EQ(ReasonOf(status), reasons::kModelUnsupported);
}

}  // namespace
}  // namespace ruvd::serving
