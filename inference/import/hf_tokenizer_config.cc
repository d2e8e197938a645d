// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/hf_tokenizer_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "inference/import/json.h"
#include "inference/tokenizer/chat_template.h"

namespace ruvd::inference {
namespace {

using nlohmann::json;

// Returns the spelling, which is given as "<s>" or {"content": "<s>", ...}.
std::optional<std::string> Spelling(const json& config, std::string_view key) {
  const json* value = JsonMember(config, key);
  return value != nullptr && value->is_object() ? JsonString(*value, "content")
                                                : JsonString(config, key);
}

// Returns the template, which is given as a string or a list of {"name", "template"}.
std::string ChatTemplate(const json& config) {
  const json* value = JsonMember(config, "chat_template");
  if (value == nullptr || !value->is_array()) {
    return JsonString(config, "chat_template").value_or("");
  }
  for (const json& entry : *value) {
    if (JsonString(entry, "name") == "default") {
      return JsonString(entry, "template").value_or("");
    }
  }
  return "";
}

// Returns the token with which a known chat format ends a turn; nullopt if that is the end-of-text
// token.
std::optional<std::string> EndOfTurn(std::string_view jinja) {
  const auto format = RecognizeChatTemplate(jinja);
  if (format == ChatFormat::kChatMl) {
    return "<|im_end|>";
  }
  if (format == ChatFormat::kLlama3) {
    return "<|eot_id|>";
  }
  return format == ChatFormat::kPhi3 ? std::optional<std::string>("<|end|>") : std::nullopt;
}

}  // namespace

absl::StatusOr<HfTokenizerConfig> ParseHfTokenizerConfig(std::string_view text) {
  ASSIGN_OR_RETURN(const json config, ParseJsonObject(text, "tokenizer_config.json"));
  return HfTokenizerConfig{.bos = Spelling(config, "bos_token"),
                           .eos = Spelling(config, "eos_token"),
                           .pad = Spelling(config, "pad_token"),
                           .mask = Spelling(config, "mask_token"),
                           .add_bos = JsonBool(config, "add_bos_token"),
                           .chat_template = ChatTemplate(config)};
}

void ApplyTokenizerConfig(const HfTokenizerConfig& from, HfTokenizer* tokenizer, HfConfig* config) {
  const auto fill = [&](const std::optional<std::string>& spelling, std::optional<uint64_t>* id) {
    const auto found = spelling && !*id ? std::ranges::find(tokenizer->tokens, *spelling)
                                        : tokenizer->tokens.end();
    if (found != tokenizer->tokens.end()) {
      *id = static_cast<uint64_t>(found - tokenizer->tokens.begin());
    }
  };
  fill(from.bos, &config->bos);
  fill(from.eos, &config->eos);
  fill(from.pad, &config->pad);
  fill(from.mask, &config->mask);
  tokenizer->add_bos = config->architecture == "llada" || from.add_bos.value_or(tokenizer->add_bos);
  if (tokenizer->chat_template.empty()) {
    tokenizer->chat_template = from.chat_template;
  }
  fill(EndOfTurn(tokenizer->chat_template), &config->end_of_turn);
}

}  // namespace ruvd::inference
