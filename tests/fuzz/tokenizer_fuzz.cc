// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/gguf/writer.h"
#include "inference/tokenizer/byte_alphabet.h"
#include "inference/tokenizer/tokenizer.h"
#include "inference/tokenizer/utf8.h"
#include "inference/tokenizer/utf8_assembler.h"

namespace {

// All bytes, a few merges, a control and a user-defined token.
std::unique_ptr<ruvd::Tokenizer> Build(const char* pre_tokenizer) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(ruvd::SpellBytes(std::string(1, static_cast<char>(byte))));
  }
  const std::vector<std::string> merges = {"a a", "aa a", "a b", "aa aa", "b ab", "1 1"};
  for (const char* merged : {"aa", "aaa", "ab", "aaaa", "bab", "11", "<|mask|>", "[u]"}) {
    tokens.emplace_back(merged);
  }
  std::vector<int32_t> types(tokens.size(), 1);
  types[types.size() - 2] = 3;
  types[types.size() - 1] = 4;
  ruvd::GgufWriter writer;
  writer.SetString("tokenizer.ggml.model", "gpt2");
  writer.SetString("tokenizer.ggml.pre", pre_tokenizer);
  writer.SetStringArray("tokenizer.ggml.tokens", tokens);
  writer.SetInt32Array("tokenizer.ggml.token_type", types);
  writer.SetStringArray("tokenizer.ggml.merges", merges);
  const std::string file = writer.Serialize().value();
  return ruvd::Tokenizer::FromGguf(*ruvd::GgufReader::Parse(ruvd::AsBytes(file)).value()).value();
}

}  // namespace

// Any bytes come back from their ids, and the assembler makes valid UTF-8 of them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::array<std::unique_ptr<ruvd::Tokenizer>, 3> kTokenizers = {
      Build("qwen2"), Build("gpt-2"), Build("llama-bpe")};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& tokenizer : kTokenizers) {
    RUVD_CHECK(tokenizer->Decode(tokenizer->Encode(text)) == text);
    ruvd::Utf8Assembler assembler;
    std::string joined;
    for (const ruvd::TokenId token : tokenizer->Encode(text, true)) {
      joined += assembler.Append(tokenizer->Piece(token));
    }
    joined += assembler.Finish();
    std::string_view rest = joined;
    while (!rest.empty()) {
      const ruvd::Utf8Char next = ruvd::FirstUtf8Char(rest);
      RUVD_CHECK(next.state == ruvd::Utf8Char::State::kValid);
      rest.remove_prefix(next.length);
    }
  }
  return 0;
}
