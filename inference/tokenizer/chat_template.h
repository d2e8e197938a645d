// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

// How a conversation is written as text for a model. Only the forms below are known. Chat templates
// are never executed, because a template is a program from an untrusted source.
enum class ChatFormat : uint8_t {
  // For models without a template: only the contents, with an empty line between them. A single
  // message is just its own text.
  kPlain,
  kChatMl,         // <|im_start|>ROLE\nTEXT<|im_end|>\n
  kLlama3,         // <|start_header_id|>ROLE<|end_header_id|>\n\nTEXT<|eot_id|>, TEXT trimmed
  kLlama2,         // [INST] <<SYS>>\nSYSTEM\n<</SYS>>\n\nTEXT [/INST] TEXT EOS, texts trimmed
  kMistral,        // [INST] SYSTEM\n\nTEXT [/INST] TEXT + EOS
  kMistralV3,      // [INST] SYSTEM\n\nTEXT[/INST] TEXT + EOS
  kMistralTekken,  // [INST]SYSTEM\n\nTEXT[/INST]TEXT + EOS
  kPhi3,           // <|ROLE|>\nTEXT<|end|>\n
  kZephyr,         // <|ROLE|>\nTEXT + EOS + \n
};

// Returns "plain", "chatml", "llama-3", "llama-2", "mistral", "mistral-v3", "mistral-tekken",
// "phi-3" or "zephyr".
std::string_view ChatFormatName(ChatFormat format);
std::optional<ChatFormat> ChatFormatByName(std::string_view name);
// Returns all names, separated by ", ".
std::string ChatFormatNames();

// Returns the format that a Jinja template (tokenizer.chat_template) writes, recognised by its
// markers, or nullopt if it is not one of those above.
std::optional<ChatFormat> RecognizeChatTemplate(std::string_view jinja);

// Returns the format of a model; kPlain if its file has no template. If the template is not
// recognised, returns MODEL_UNSUPPORTED and lists the formats to choose from.
absl::StatusOr<ChatFormat> ChatFormatOf(const Tokenizer& tokenizer);

// Writes a conversation as segments for Tokenizer::EncodeSegments. Markers are trusted and contents
// are not, so no content can become a marker. With `add_generation_prompt` the text ends where the
// assistant's answer begins. EncodeSegments adds the beginning-of-text token.
//
// INVALID_ARGUMENT for an unknown role; for turns that the format cannot express (the formats with
// [INST] require user and assistant to alternate, after an optional system message); for too many
// messages; and for a content that spells a marker which is plain text in this vocabulary.
absl::StatusOr<std::vector<TextSegment>> ApplyChatTemplate(ChatFormat format,
                                                           std::span<const ChatMessage> messages,
                                                           bool add_generation_prompt,
                                                           const Tokenizer& tokenizer);

}  // namespace ruvd::inference
