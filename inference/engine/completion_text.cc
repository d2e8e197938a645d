// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/completion_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ruvd::inference {

CompletionText::CompletionText(const Tokenizer& tokenizer, std::vector<TokenId> end_tokens,
                               std::vector<std::string> stop)
    : tokenizer_(tokenizer), end_tokens_(std::move(end_tokens)), stop_(std::move(stop)) {}

std::string CompletionText::Append(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) {
    if (end_ != End::kNone) {
      return "";
    }
    ++tokens_;
    if (std::find(end_tokens_.begin(), end_tokens_.end(), token) != end_tokens_.end()) {
      std::string rest = Finish();
      if (end_ == End::kNone) {
        end_ = End::kEndOfText;
      }
      return rest;
    }
    if (tokenizer_.IsSpecial(token)) {
      ends_.push_back(Length());
      continue;  // this token has no text
    }
    pending_ += assembler_.Append(tokenizer_.Piece(token));
    ends_.push_back(Length());
    CutAtStop();
    if (end_ != End::kNone) {
      return Release(pending_.size());
    }
  }
  return Release(pending_.size() - HeldBack());
}

std::string CompletionText::Finish() {
  if (end_ == End::kNone) {
    pending_ += assembler_.Finish();
    CutAtStop();
  }
  return Release(pending_.size());
}

void CompletionText::CutAtStop() {
  size_t first = std::string::npos;
  for (const std::string& stop : stop_) {
    first = std::min(first, pending_.find(stop));
  }
  if (first != std::string::npos) {
    pending_.resize(first);
    end_ = End::kStop;
    const size_t length = text_.size() + first;
    shown_ = static_cast<int>(std::upper_bound(ends_.begin(), ends_.end(), length) - ends_.begin());
  }
}

std::string CompletionText::Release(size_t bytes) {
  std::string released = pending_.substr(0, bytes);
  pending_.erase(0, bytes);
  text_ += released;
  return released;
}

size_t CompletionText::HeldBack() const {
  size_t held = 0;
  for (const std::string& stop : stop_) {
    for (size_t n = std::min(stop.size() - 1, pending_.size()); n > held; --n) {
      if (std::string_view(pending_).ends_with(std::string_view(stop).substr(0, n))) {
        held = n;
      }
    }
  }
  return held;
}

}  // namespace ruvd::inference
