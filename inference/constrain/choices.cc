// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/choices.h"

#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {

absl::StatusOr<std::shared_ptr<const Grammar>> GrammarOfChoices(
    std::span<const std::string> texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += text.size();
    if (text.empty() || !IsUtf8(text)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "a choice is empty or not UTF-8; send texts that the completion may be");
    }
  }
  if (texts.empty() || texts.size() > limits::kMaxChoices || bytes > limits::kMaxConstraintBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "there are {} choices of {} bytes; send 1 to {} of at most {} bytes in all",
                 texts.size(), bytes, limits::kMaxChoices, limits::kMaxConstraintBytes);
  }
  GrammarBuilder builder;
  std::vector<GrammarBuilder::Expression> options;
  for (const std::string& text : texts) {
    options.push_back(builder.Literal(text));
  }
  return builder.Build(builder.Choice(options));
}

}  // namespace ruvd::inference
