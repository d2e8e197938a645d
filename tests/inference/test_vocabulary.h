// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "inference/gguf/writer.h"
#include "inference/tokenizer/byte_alphabet.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::test {

// Builds the tokenizer part of a GGUF file, token by token.
struct TestVocabulary {
  enum Type : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5 };

  // A byte-level BPE vocabulary with the 256 bytes.
  static TestVocabulary Bytes(const std::string& pre = "qwen2") {
    TestVocabulary out;
    out.pre = pre;
    for (int byte = 0; byte < 256; ++byte) {
      out.Add(inference::SpellBytes(std::string(1, static_cast<char>(byte))));
    }
    return out;
  }
  // A SentencePiece vocabulary with <unk>, <s>, </s> and the 256 bytes.
  static TestVocabulary Pieces() {
    TestVocabulary out;
    out.model = "llama";
    out.Add("<unk>", kUnknown);
    out.Add("<s>", kControl);
    out.Add("</s>", kControl);
    for (int byte = 0; byte < 256; ++byte) {
      out.Add(fmt::format("<0x{:02X}>", byte), 6);
    }
    return out;
  }

  // Returns the id.
  inference::TokenId Add(const std::string& token, int32_t type = kNormal, float score = 0) {
    tokens.push_back(token);
    types.push_back(type);
    scores.push_back(score);
    return static_cast<inference::TokenId>(tokens.size() - 1);
  }

  absl::StatusOr<std::unique_ptr<inference::Tokenizer>> Build() const {
    inference::GgufWriter writer;
    if (!name.empty()) {
      writer.SetString("general.name", name);
    }
    writer.SetString("tokenizer.ggml.model", model);
    if (!pre.empty()) {
      writer.SetString("tokenizer.ggml.pre", pre);
    }
    writer.SetStringArray("tokenizer.ggml.tokens", tokens);
    writer.SetInt32Array("tokenizer.ggml.token_type", types);
    if (model == "llama") {
      writer.SetFloatArray("tokenizer.ggml.scores", scores);
    } else {
      writer.SetStringArray("tokenizer.ggml.merges", merges);
    }
    extra(&writer);
    const std::string file = writer.Serialize().value();
    return inference::Tokenizer::FromGguf(*inference::GgufReader::Parse(AsBytes(file)).value());
  }

  std::string name, model = "gpt2", pre;
  std::vector<std::string> tokens, merges;
  std::vector<int32_t> types;
  std::vector<float> scores;
  std::function<void(inference::GgufWriter*)> extra = [](inference::GgufWriter*) {};
};

}  // namespace ruvd::test
