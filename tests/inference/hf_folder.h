// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "inference/gguf/half.h"
#include "inference/tokenizer/byte_alphabet.h"

// The files of a Hugging Face folder, built in memory.
namespace ruvd::test {

inline constexpr int kHfVocabulary = 288;  // the bytes, one merge, one special token, unused ids
inline constexpr int kHfMergeId = 256;
inline constexpr int kHfMaskId = 257;

inline std::string JsonQuoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    out += (c == '"' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  }
  return out + "\"";
}

inline std::string HfTokenizerJson() {
  std::string vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary += fmt::format(
        "{}: {}, ", JsonQuoted(inference::SpellBytes(std::string(1, static_cast<char>(byte)))),
        byte);
  }
  return R"({"added_tokens": [{"id": 257, "content": "<|mask|>", "special": true}],
    "normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
      {"type": "ByteLevel", "use_regex": false}]},
    "model": {"type": "BPE", "merges": ["a b"], "vocab": {)" +
         vocabulary + R"("ab": 256}}})";
}

// A safetensors file.
class SafetensorsBuilder {
 public:
  // A float16 tensor whose value i is i / 256 modulo 1.
  void Add(const std::string& name, const std::vector<int>& shape) {
    size_t count = 1;
    for (const int extent : shape) {
      count *= static_cast<size_t>(extent);
    }
    Describe(name, "F16", shape, 2 * count);
    for (size_t i = 0; i < count; ++i) {
      data_.Write<uint16_t>(inference::FloatToHalf(static_cast<float>(i % 256) / 256));
    }
  }
  // A float32 tensor of these values.
  void Add(const std::string& name, const std::vector<int>& shape,
           const std::vector<float>& values) {
    Describe(name, "F32", shape, 4 * values.size());
    for (const float value : values) {
      data_.Write(value);
    }
  }
  std::string Build() const {
    const std::string header = "{" + header_ + "}";
    return ByteWriter().Write<uint64_t>(header.size()).WriteText(header).Take() + data_.str();
  }

 private:
  void Describe(const std::string& name, const char* type, const std::vector<int>& shape,
                size_t bytes) {
    header_ += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                           header_.empty() ? "" : ",", name, type, fmt::join(shape, ","),
                           data_.str().size(), data_.str().size() + bytes);
  }

  std::string header_;
  ByteWriter data_;
};

}  // namespace ruvd::test
