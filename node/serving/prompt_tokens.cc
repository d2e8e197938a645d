// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/prompt_tokens.h"

#include <optional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::serving {
namespace {

// A model cannot continue an empty text.
std::vector<inference::TokenId> OrEndOfText(const inference::Model& model,
                                            std::vector<inference::TokenId> tokens) {
  if (tokens.empty() && model.tokenizer().eos_id().has_value()) {
    tokens.push_back(*model.tokenizer().eos_id());
  }
  return tokens;
}

}  // namespace

std::vector<inference::TokenId> PromptTokens(const inference::Model& model,
                                             std::string_view prompt) {
  return OrEndOfText(model, model.tokenizer().EncodePrompt(prompt));
}

std::vector<inference::TokenId> CanvasTokens(const inference::Model& model,
                                             const std::vector<TextPart>& parts) {
  std::vector<inference::TokenId> canvas;
  for (const TextPart& part : parts) {
    const std::vector<inference::TokenId> tokens =
        canvas.empty() ? model.tokenizer().EncodePrompt(part.text)
                       : model.tokenizer().EncodeContinuation(part.text);
    canvas.insert(canvas.end(), tokens.begin(), tokens.end());
    if (canvas.empty() && part.gap > 0 && model.tokenizer().eos_id().has_value()) {
      canvas.push_back(*model.tokenizer().eos_id());  // as before an empty prompt
    }
    canvas.resize(canvas.size() + static_cast<size_t>(part.gap), inference::kNoToken);
  }
  return canvas;
}

absl::StatusOr<ChatPrompt> WriteConversation(const inference::Model& model,
                                             const Conversation& conversation) {
  const inference::Tokenizer& tokenizer = model.tokenizer();
  std::optional<inference::ChatFormat> format = conversation.format;
  if (!format.has_value()) {
    if (tokenizer.chat_template().empty()) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kModelUnsupported,
                   "the model {} has no chat template (tokenizer.chat_template), so it is unknown "
                   "how messages must be written for it; send a prompt, or name the chat format "
                   "that it was trained on, one of {}",
                   model.config().name, inference::ChatFormatNames());
    }
    ASSIGN_OR_RETURN(format, inference::ChatFormatOf(tokenizer));
  }
  ASSIGN_OR_RETURN(const std::vector<inference::TextSegment> segments,
                   ApplyChatTemplate(*format, conversation.messages,
                                     /*add_generation_prompt=*/true, tokenizer));
  ChatPrompt prompt;
  for (const inference::TextSegment& segment : segments) {
    prompt.text += segment.text;
  }
  prompt.tokens = OrEndOfText(model, tokenizer.EncodePrompt(segments));
  return prompt;
}

}  // namespace ruvd::serving
