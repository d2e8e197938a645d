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

// How a conversation is written down for a model. We know the forms below and interpret no
// templates: a template is a program of strangers.
enum class ChatFormat : uint8_t {
  // Of models without a template: the contents with an empty line between them, nothing else. One
  // message is its own text.
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

// "plain", "chatml", "llama-3", "llama-2", "mistral", "mistral-v3", "mistral-tekken", "phi-3",
// "zephyr".
std::string_view ChatFormatName(ChatFormat format);
std::optional<ChatFormat> ChatFormatByName(std::string_view name);
// All of them, separated by ", ".
std::string ChatFormatNames();

// The format that a Jinja template (tokenizer.chat_template) writes, known by its markers. Nullopt
// where it is none of ours.
std::optional<ChatFormat> RecognizeChatTemplate(std::string_view jinja);

// The format of a model; kPlain where its file has no template. MODEL_UNSUPPORTED, naming the
// formats to choose from, for a template that is not recognised.
absl::StatusOr<ChatFormat> ChatFormatOf(const Tokenizer& tokenizer);

// Writes a conversation down for Tokenizer::EncodeSegments: markers are trusted, contents are not,
// so that no content can become a marker. With `add_generation_prompt` the text ends where the
// assistant's answer begins. The beginning-of-text token is left to EncodeSegments.
//
// INVALID_ARGUMENT for another role, for turns that the format cannot express (those with [INST]
// want user and assistant alternately, the system first), for too many messages, and for a content
// that spells a marker which is plain text in this vocabulary.
absl::StatusOr<std::vector<TextSegment>> ApplyChatTemplate(ChatFormat format,
                                                           std::span<const ChatMessage> messages,
                                                           bool add_generation_prompt,
                                                           const Tokenizer& tokenizer);

}  // namespace ruvd::inference
