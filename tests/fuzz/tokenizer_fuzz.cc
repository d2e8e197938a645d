// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/utf8.h"
#include "inference/tokenizer/tokenizer.h"
#include "inference/tokenizer/utf8_assembler.h"
#include "tests/inference/test_vocabulary.h"

namespace {

using ruvd::inference::TokenId;
using ruvd::inference::Tokenizer;
using ruvd::test::TestVocabulary;

// All bytes, a few merges, two tokens spelled alike, a control and a user-defined token.
std::unique_ptr<Tokenizer> BytePairs(const char* pre_tokenizer) {
  TestVocabulary out = TestVocabulary::Bytes(pre_tokenizer);
  out.merges = {"a a", "aa a", "a b", "aa aa", "b ab", "1 1"};
  for (const char* merged : {"aa", "aaa", "ab", "aaaa", "bab", "11", "ab"}) {
    out.Add(merged);
  }
  out.Add("<|mask|>", TestVocabulary::kControl);
  out.Add("[u]", TestVocabulary::kUserDefined);
  return out.Build().value();
}

std::unique_ptr<Tokenizer> Pieces() {
  TestVocabulary out = TestVocabulary::Pieces();
  float score = 0;
  for (const char* piece :
       {"▁", "a", "b", "<", "s", "ab", "▁a", "aa", "▁▁", "b▁", "é", "<s", "aab", "▁a"}) {
    out.Add(piece, TestVocabulary::kNormal, score -= 1);
  }
  out.Add("ba", TestVocabulary::kUnused, 2);
  out.Add("[u]", TestVocabulary::kUserDefined);
  return out.Build().value();
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const ruvd::Utf8Char next = ruvd::FirstUtf8Char(text);
    if (next.state != ruvd::Utf8Char::State::kValid) {
      return false;
    }
    text.remove_prefix(next.length);
  }
  return true;
}

// Tokens give whole characters at every step.
void CheckStream(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  ruvd::inference::Utf8Assembler assembler;
  for (const TokenId token : tokens) {
    RUVD_CHECK(IsUtf8(assembler.Append(tokenizer.Decode({&token, 1}))));
  }
  RUVD_CHECK(IsUtf8(assembler.Finish()));
}

// Any bytes come back from their ids. The first byte picks the tokenizer: running all of them for
// each input would be slow, and the search would learn no more.
void CheckText(std::string_view text) {
  static const auto& kTokenizers = *[] {
    auto* out = new std::vector<std::unique_ptr<Tokenizer>>;
    for (const char* pre : {"qwen2", "qwen35", "gpt-2", "llama-bpe", "seed-coder", "starcoder",
                            "falcon", "tekken", "deepseek-llm", "deepseek-coder", "default"}) {
      out->push_back(BytePairs(pre));
    }
    out->push_back(Pieces());
    return out;
  }();
  const size_t chosen = static_cast<uint8_t>(text.front()) % kTokenizers.size();
  const Tokenizer& tokenizer = *kTokenizers[chosen];
  text.remove_prefix(1);
  const bool has_space_mark = text.find("▁") != std::string_view::npos;
  if (chosen + 1 < kTokenizers.size() || !has_space_mark) {
    RUVD_CHECK(tokenizer.Decode(tokenizer.Encode(text)) == text);
  }
  CheckStream(tokenizer, tokenizer.Encode(text, /*parse_special=*/true));
}

// The lines of the input are a vocabulary (kind, score and piece), followed by the text. Either it
// is refused, or every id lies in it and plain text gives no control token.
void CheckVocabulary(std::string_view input) {
  TestVocabulary vocabulary =
      input.front() % 2 == 0 ? TestVocabulary::Bytes("default") : TestVocabulary{};
  vocabulary.model = input.front() % 2 == 0 ? "gpt2" : "llama";
  input.remove_prefix(1);
  for (size_t end = input.find('\n'); end != std::string_view::npos; end = input.find('\n')) {
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(end + 1);
    if (line.size() < 2) {
      continue;
    }
    vocabulary.Add(std::string(line.substr(2)), line[0] % 7, static_cast<float>(line[1]));
    vocabulary.merges.emplace_back(line.substr(2));
  }
  if (vocabulary.model == "gpt2") {
    std::erase_if(vocabulary.merges,
                  [](const std::string& merge) { return merge.find(' ', 1) == std::string::npos; });
  }
  const auto tokenizer = vocabulary.Build();
  if (!tokenizer.ok()) {
    return;
  }
  for (const TokenId token : (*tokenizer)->Encode(input)) {
    RUVD_CHECK(token < (*tokenizer)->size());
    RUVD_CHECK(vocabulary.types[token] != TestVocabulary::kControl);
    RUVD_CHECK(vocabulary.types[token] != TestVocabulary::kUnused);
  }
  CheckStream(**tokenizer, (*tokenizer)->Encode(input, /*parse_special=*/true));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (!input.empty()) {
    CheckText(input);
    CheckVocabulary(input);
  }
  return 0;
}
