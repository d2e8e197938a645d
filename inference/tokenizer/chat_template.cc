// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/chat_template.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/tokenizer/limits.h"

namespace ruvd::inference {
namespace {

constexpr char kSystem[] = "system";
constexpr char kUser[] = "user";
constexpr char kAssistant[] = "assistant";
constexpr std::array<std::string_view, 3> kRoles = {kSystem, kUser, kAssistant};

struct FormatName {
  ChatFormat format;
  std::string_view name;
};
constexpr FormatName kNames[] = {
    {ChatFormat::kPlain, "plain"},
    {ChatFormat::kChatMl, "chatml"},
    {ChatFormat::kLlama3, "llama-3"},
    {ChatFormat::kLlama2, "llama-2"},
    {ChatFormat::kMistral, "mistral"},
    {ChatFormat::kMistralV3, "mistral-v3"},
    {ChatFormat::kMistralTekken, "mistral-tekken"},
    {ChatFormat::kPhi3, "phi-3"},
    {ChatFormat::kZephyr, "zephyr"},
};

template <typename... Args>
absl::Status Refused(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns whether the end-of-text token follows a user's turn. Zephyr's template has it; other
// templates with the same markers do not.
bool EndsTurnsWithEndOfText(std::string_view jinja) {
  constexpr std::string_view kMarker = "<|user|>";
  for (size_t at = jinja.find(kMarker); at != std::string_view::npos;
       at = jinja.find(kMarker, at + 1)) {
    const std::string_view rest = jinja.substr(at + kMarker.size());
    const size_t next = std::min(rest.find("<|"), rest.size());
    if (Contains(rest.substr(0, next), "eos_token") ||
        rest.substr(next).starts_with("<|endoftext|>")) {
      return true;
    }
  }
  return false;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  const size_t end = text.find_last_not_of(kSpaces);
  return end == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

// Collects segments. Neighbouring segments that are both trusted or both untrusted are joined.
class Writer {
 public:
  void Marker(std::string_view text) { Add(text, /*trusted=*/true); }
  void Content(std::string_view text) { Add(text, /*trusted=*/false); }
  std::vector<TextSegment> Finish() { return std::move(segments_); }

 private:
  void Add(std::string_view text, bool trusted) {
    if (text.empty()) {
      return;
    }
    if (segments_.empty() || segments_.back().trusted != trusted) {
      segments_.push_back({"", trusted});
    }
    segments_.back().text += text;
  }
  std::vector<TextSegment> segments_;
};

struct Markers {
  std::string bos, eos;
};

void WritePlain(std::span<const ChatMessage> messages, Writer* out) {
  std::string_view separator;
  for (const ChatMessage& message : messages) {
    out->Marker(separator);
    out->Content(message.content);
    separator = "\n\n";
  }
}

// A format whose turns are independent: the text before the role, between role and content, and
// after the content.
struct TurnForm {
  std::string before, between, behind;
  bool trimmed = false;
};

TurnForm TurnFormOf(ChatFormat format, const Markers& markers) {
  switch (format) {
    case ChatFormat::kLlama3:
      return {"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", true};
    case ChatFormat::kPhi3:
      return {"<|", "|>\n", "<|end|>\n"};
    case ChatFormat::kZephyr:
      return {"<|", "|>\n", markers.eos + "\n"};
    default:
      return {"<|im_start|>", "\n", "<|im_end|>\n"};
  }
}

void WriteTurns(const TurnForm& form, std::span<const ChatMessage> messages,
                bool add_generation_prompt, Writer* out) {
  for (const ChatMessage& message : messages) {
    out->Marker(form.before + message.role + form.between);
    out->Content(form.trimmed ? Trimmed(message.content) : std::string_view(message.content));
    out->Marker(form.behind);
  }
  if (add_generation_prompt) {
    out->Marker(form.before + kAssistant + form.between);
  }
}

// Checks that user and assistant take turns, beginning with the user, after at most one system
// message.
absl::Status CheckTurns(ChatFormat format, std::span<const ChatMessage> messages) {
  std::string_view expected = kUser;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (i == 0 && messages[i].role == kSystem) {
      continue;
    }
    if (messages[i].role != expected) {
      return Refused(
          "message {} has the role {} where the format {} expects {}: user and assistant must "
          "take turns, after at most one system message",
          i, messages[i].role, ChatFormatName(format), expected);
    }
    expected = expected == kUser ? kAssistant : kUser;
  }
  if (messages.size() == 1 && messages[0].role == kSystem) {
    return Refused("the format {} puts the system message into the user's first one; add that",
                   ChatFormatName(format));
  }
  return absl::OkStatus();
}

// The differences between the formats with [INST].
struct InstructionForm {
  std::string_view before = "[INST] ";
  std::string_view system_before, system_behind = "\n\n";
  std::string_view behind = " [/INST]";
  std::string_view answer_before = " ";
  std::string answer_behind;
  bool trimmed = false;
};

InstructionForm InstructionFormOf(ChatFormat format, const Markers& markers) {
  InstructionForm form;
  form.answer_behind = markers.eos;
  switch (format) {
    case ChatFormat::kLlama2:
      form.system_before = "<<SYS>>\n";
      form.system_behind = "\n<</SYS>>\n\n";
      form.answer_behind = " " + markers.eos + markers.bos;
      form.trimmed = true;
      break;
    case ChatFormat::kMistralTekken:
      form.before = "[INST]";
      form.answer_before = "";
      [[fallthrough]];
    case ChatFormat::kMistralV3:
      form.behind = "[/INST]";
      break;
    default:
      break;
  }
  return form;
}

void WriteInstructions(const InstructionForm& form, std::span<const ChatMessage> messages,
                       Writer* out) {
  const auto write = [&](std::string_view before, const ChatMessage& message,
                         std::string_view behind) {
    out->Marker(before);
    out->Content(form.trimmed ? Trimmed(message.content) : std::string_view(message.content));
    out->Marker(behind);
  };
  bool inside = false;  // an instruction that the system message has begun is still open
  for (const ChatMessage& message : messages) {
    if (message.role == kAssistant) {
      write(form.answer_before, message, form.answer_behind);
      continue;
    }
    out->Marker(inside ? "" : form.before);
    inside = message.role == kSystem;
    if (inside) {
      write(form.system_before, message, form.system_behind);
    } else {
      write("", message, form.behind);
    }
  }
}

std::vector<std::string> MarkersOf(ChatFormat format, const Markers& markers) {
  switch (format) {
    case ChatFormat::kPlain:
      break;
    case ChatFormat::kChatMl:
      return {"<|im_start|>", "<|im_end|>"};
    case ChatFormat::kLlama3:
      return {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"};
    case ChatFormat::kLlama2:
      return {"[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", markers.bos, markers.eos};
    case ChatFormat::kMistral:
    case ChatFormat::kMistralV3:
    case ChatFormat::kMistralTekken:
      return {"[INST]", "[/INST]", markers.eos};
    case ChatFormat::kPhi3:
      return {"<|system|>", "<|user|>", "<|assistant|>", "<|end|>"};
    case ChatFormat::kZephyr:
      return {"<|system|>", "<|user|>", "<|assistant|>", markers.eos};
  }
  return {};
}

// A marker that is not a control token looks the same in a message. Refuses messages that contain
// such a marker, or that form one together with the text next to them.
absl::Status CheckForgery(std::span<const TextSegment> segments,
                          const std::vector<std::string>& markers, const Tokenizer& tokenizer) {
  std::string text;
  std::vector<size_t> starts;
  for (const TextSegment& segment : segments) {
    starts.push_back(text.size());
    text += segment.text;
  }
  const auto segment_at = [&](size_t at) {
    return std::upper_bound(starts.begin(), starts.end(), at) - starts.begin() - 1;
  };
  for (const std::string& marker : markers) {
    if (marker.empty() || tokenizer.IsControlText(marker)) {
      continue;
    }
    for (size_t at = text.find(marker); at != std::string::npos; at = text.find(marker, at + 1)) {
      const auto segment = segment_at(at);
      if (!segments[static_cast<size_t>(segment)].trusted ||
          segment_at(at + marker.size() - 1) != segment) {
        return Refused(
            "a message contains \"{}\", which this model cannot tell from the marker of "
            "its chat template; remove it from the message",
            marker);
      }
    }
  }
  return absl::OkStatus();
}

std::string PieceOf(const Tokenizer& tokenizer, std::optional<TokenId> token) {
  return token ? std::string(tokenizer.Piece(*token)) : "";
}

absl::Status CheckMessages(std::span<const ChatMessage> messages) {
  if (messages.size() > limits::kMaxChatMessages) {
    return Refused("the chat has {} messages, more than the limit of {}", messages.size(),
                   limits::kMaxChatMessages);
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    // The role becomes part of a marker, so only known roles are allowed.
    if (std::find(kRoles.begin(), kRoles.end(), messages[i].role) == kRoles.end()) {
      return Refused("the role of message {} is not one of {}", i, fmt::join(kRoles, ", "));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view ChatFormatName(ChatFormat format) {
  const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const auto& entry) { return entry.format == format; });
  return found->name;
}

std::optional<ChatFormat> ChatFormatByName(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const auto& entry) { return entry.name == name; });
  return found == std::end(kNames) ? std::nullopt : std::optional(found->format);
}

std::string ChatFormatNames() {
  std::vector<std::string_view> names;
  for (const FormatName& known : kNames) {
    names.push_back(known.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<ChatFormat> RecognizeChatTemplate(std::string_view jinja) {
  const auto has = [&](std::string_view marker) { return Contains(jinja, marker); };
  if (has("<|im_start|>")) {
    return has("<|im_end|>") && !has("<|im_sep|>") ? std::optional(ChatFormat::kChatMl)
                                                   : std::nullopt;
  }
  if (has("<|start_header_id|>")) {
    return has("<|end_header_id|>") && has("<|eot_id|>") ? std::optional(ChatFormat::kLlama3)
                                                         : std::nullopt;
  }
  if (has("<|assistant|>")) {
    if (has("<|end|>")) {
      return has("<|content|>") ? std::nullopt : std::optional(ChatFormat::kPhi3);
    }
    return EndsTurnsWithEndOfText(jinja) ? std::optional(ChatFormat::kZephyr) : std::nullopt;
  }
  if (has("[INST]") && has("[/INST]") && !has("[SYSTEM_PROMPT]")) {
    if (has("<<SYS>>")) {
      return ChatFormat::kLlama2;
    }
    if (has(" [/INST]")) {
      return ChatFormat::kMistral;
    }
    return has("[INST] ") ? ChatFormat::kMistralV3 : ChatFormat::kMistralTekken;
  }
  return std::nullopt;
}

absl::StatusOr<ChatFormat> ChatFormatOf(const Tokenizer& tokenizer) {
  if (tokenizer.chat_template().empty()) {
    return ChatFormat::kPlain;
  }
  if (const auto format = RecognizeChatTemplate(tokenizer.chat_template())) {
    return *format;
  }
  return Error(absl::StatusCode::kUnimplemented, reasons::kModelUnsupported,
               "the model's chat template is not known; choose one of {}, or send the "
               "conversation as plain text in the model's own form",
               ChatFormatNames());
}

absl::StatusOr<std::vector<TextSegment>> ApplyChatTemplate(ChatFormat format,
                                                           std::span<const ChatMessage> messages,
                                                           bool add_generation_prompt,
                                                           const Tokenizer& tokenizer) {
  RETURN_IF_ERROR(CheckMessages(messages));
  const Markers markers{PieceOf(tokenizer, tokenizer.bos_id()),
                        PieceOf(tokenizer, tokenizer.eos_id())};
  Writer writer;
  switch (format) {
    case ChatFormat::kPlain:
      WritePlain(messages, &writer);
      break;
    case ChatFormat::kLlama2:
    case ChatFormat::kMistral:
    case ChatFormat::kMistralV3:
    case ChatFormat::kMistralTekken:
      RETURN_IF_ERROR(CheckTurns(format, messages));
      WriteInstructions(InstructionFormOf(format, markers), messages, &writer);
      break;
    default:
      WriteTurns(TurnFormOf(format, markers), messages, add_generation_prompt, &writer);
  }
  std::vector<TextSegment> segments = writer.Finish();
  RETURN_IF_ERROR(CheckForgery(segments, MarkersOf(format, markers), tokenizer));
  return segments;
}

}  // namespace ruvd::inference
