// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/tokenizer/chat_template.h"
#include "tests/inference/test_vocabulary.h"

namespace {

using ruvd::inference::ChatFormat;
using ruvd::inference::ChatMessage;
using ruvd::inference::TextSegment;
using ruvd::inference::TokenId;
using ruvd::inference::Tokenizer;
using ruvd::test::TestVocabulary;

constexpr std::array kMarkers = {
    "<|im_start|>",     "<|im_end|>", "<|start_header_id|>", "<|eot_id|>", "[INST]",     "[/INST]",
    "<<SYS>>",          "<|user|>",   "<|assistant|>",       "<|end|>",    "<|system|>", "<</SYS>>",
    "<|end_header_id|>"};

constexpr std::array<std::pair<ChatFormat, const char*>, 6> kOwnMarkers = {{
    {ChatFormat::kChatMl, "<|im_start|>"},
    {ChatFormat::kChatMl, "<|im_end|>"},
    {ChatFormat::kLlama2, "[/INST]"},
    {ChatFormat::kMistral, "[INST]"},
    {ChatFormat::kPhi3, "<|end|>"},
    {ChatFormat::kZephyr, "<|assistant|>"},
}};

std::unique_ptr<Tokenizer> Build(TestVocabulary vocabulary, int32_t markers) {
  const TokenId bos = vocabulary.Add("<S>", TestVocabulary::kControl);
  const TokenId eos = vocabulary.Add("</S>", TestVocabulary::kControl);
  for (const char* marker : kMarkers) {
    vocabulary.Add(marker, markers);
  }
  vocabulary.extra = [bos, eos](ruvd::inference::GgufWriter* writer) {
    writer->SetUnsigned32("tokenizer.ggml.bos_token_id", bos);
    writer->SetUnsigned32("tokenizer.ggml.eos_token_id", eos);
  };
  return vocabulary.Build().value();
}

std::string Joined(const std::vector<TextSegment>& segments, bool trusted_only) {
  std::string out;
  for (const TextSegment& segment : segments) {
    out += segment.trusted || !trusted_only ? segment.text : "\x01";
  }
  return out;
}

size_t Count(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

void CheckNothingIsForged(const Tokenizer& tokenizer, const std::vector<TextSegment>& segments) {
  std::vector<TextSegment> harmless = segments;
  for (TextSegment& segment : harmless) {
    segment.text = segment.trusted ? segment.text : "x";
  }
  std::vector<TokenId> actual = tokenizer.EncodeSegments(segments, /*add_special=*/true);
  std::vector<TokenId> expected = tokenizer.EncodeSegments(harmless, /*add_special=*/true);
  for (auto* ids : {&actual, &expected}) {
    std::erase_if(*ids, [&](TokenId token) { return !tokenizer.IsSpecial(token); });
  }
  RUVD_CHECK(actual == expected);
}

// The parts of the input between bytes 0xFF: the template, then the messages' contents.
std::vector<std::string> Parts(std::string_view input) {
  std::vector<std::string> out(1);
  for (const char c : input) {
    if (c == '\xFF') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

}  // namespace

// Any bytes are a template that is recognised or not. No content of a message, in any format and
// vocabulary, adds a control token or, where markers are plain text, a marker.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::array<std::unique_ptr<Tokenizer>, 3> kTokenizers = {
      Build(TestVocabulary::Bytes(), TestVocabulary::kControl),
      Build(TestVocabulary::Bytes(), TestVocabulary::kUserDefined),
      Build(TestVocabulary::Pieces(), TestVocabulary::kUnused)};
  std::vector<std::string> parts = Parts({reinterpret_cast<const char*>(data), size});
  std::vector<ChatFormat> formats = {
      ChatFormat::kPlain,  ChatFormat::kChatMl, ChatFormat::kLlama2, ChatFormat::kMistralTekken,
      ChatFormat::kLlama3, ChatFormat::kPhi3,   ChatFormat::kZephyr, ChatFormat::kMistral};
  if (const auto recognized = ruvd::inference::RecognizeChatTemplate(parts[0])) {
    formats.push_back(*recognized);
  }
  std::vector<ruvd::inference::ChatMessage> messages;
  for (size_t i = 1; i < parts.size(); ++i) {
    messages.push_back({i % 2 == 1 ? "user" : "assistant", parts[i]});
  }
  for (const auto& tokenizer : kTokenizers) {
    for (const ChatFormat format : formats) {
      const auto segments = ruvd::inference::ApplyChatTemplate(format, messages, true, *tokenizer);
      if (!segments.ok()) {
        continue;
      }
      CheckNothingIsForged(*tokenizer, *segments);
      for (const auto& [owner, marker] : kOwnMarkers) {
        RUVD_CHECK(format != owner || tokenizer->IsControlText(marker) ||
                   Count(Joined(*segments, true), marker) ==
                       Count(Joined(*segments, false), marker));
      }
    }
  }
  return 0;
}
