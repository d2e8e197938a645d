// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/random_vocabulary.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/tokenizer/byte_alphabet.h"

namespace ruvd::bench {
namespace {

constexpr int32_t kNormal = 1;  // token types of llama.cpp
constexpr int32_t kControl = 3;
constexpr const char* kSpecial[] = {"<|endoftext|>", "<|mask|>", "<|pad|>", "<|im_start|>",
                                    "<|im_end|>"};

// Returns strings in order of length: every one of `shorter` continued by every letter.
std::vector<std::pair<std::string, char>> Continue(const std::vector<std::string>& shorter) {
  std::vector<std::pair<std::string, char>> out;
  for (const std::string& beginning : shorter) {
    for (char letter = 'a'; letter <= 'z'; ++letter) {
      out.emplace_back(beginning, letter);
    }
  }
  return out;
}

}  // namespace

void AddVocabulary(size_t size, inference::GgufWriter* writer) {
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  tokens.reserve(size);
  merges.reserve(size);
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(inference::SpellBytes(std::string(1, static_cast<char>(byte))));
  }
  std::vector<std::string> last = {inference::SpellBytes(" ")};
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    last.emplace_back(1, letter);
  }
  const size_t words = size - std::size(kSpecial);
  while (tokens.size() < words) {
    std::vector<std::string> made;
    for (const auto& [beginning, letter] : Continue(last)) {
      if (tokens.size() == words) {
        break;
      }
      merges.push_back(beginning + ' ' + letter);
      tokens.push_back(made.emplace_back(beginning + letter));
    }
    last = std::move(made);
  }
  std::vector<int32_t> types(tokens.size(), kNormal);
  tokens.insert(tokens.end(), std::begin(kSpecial), std::end(kSpecial));
  types.resize(tokens.size(), kControl);
  const auto first_special = static_cast<uint32_t>(words);
  writer->SetString("tokenizer.ggml.model", "gpt2");
  writer->SetString("tokenizer.ggml.pre", "qwen2");
  writer->SetStringArray("tokenizer.ggml.tokens", tokens);
  writer->SetInt32Array("tokenizer.ggml.token_type", types);
  writer->SetStringArray("tokenizer.ggml.merges", merges);
  writer->SetUnsigned32("tokenizer.ggml.bos_token_id", first_special);
  writer->SetUnsigned32("tokenizer.ggml.eos_token_id", first_special);
  writer->SetUnsigned32("tokenizer.ggml.mask_token_id", first_special + 1);
  writer->SetUnsigned32("tokenizer.ggml.padding_token_id", first_special + 2);
  writer->SetBool("tokenizer.ggml.add_bos_token", false);
}

}  // namespace ruvd::bench
