// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/utf8_assembler.h"

#include <utility>

#include "base/utf8.h"

namespace ruvd::inference {

std::string Utf8Assembler::Append(std::string_view bytes) {
  pending_ += bytes;
  std::string out;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Char next = FirstUtf8Char(rest);
    if (next.state == Utf8Char::State::kTruncated) {
      break;
    }
    out += next.state == Utf8Char::State::kValid ? rest.substr(0, next.length) : kReplacementUtf8;
    rest.remove_prefix(next.length);
  }
  pending_ = std::string(rest);
  return out;
}

std::string Utf8Assembler::Finish() {
  return std::exchange(pending_, {}).empty() ? std::string() : std::string(kReplacementUtf8);
}

}  // namespace ruvd::inference
