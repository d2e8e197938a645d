// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "inference/sampler/distribution.h"
#include "tests/inference/text_model.h"

namespace ruvd::test {

// The model has equal weights whatever token ends a turn of a chat; with kNoToken, no token does.
inline std::shared_ptr<const TextModel> TextModelWithEndOfTurn(TokenId end) {
  return std::make_shared<const TextModel>(
      TextModel::Defaults(), ByteTokenizer([end](GgufWriter* writer) {
        if (end != kNoToken) {
          writer->SetUnsigned32("tokenizer.ggml.eot_token_id", end);
        }
      }));
}

}  // namespace ruvd::test
