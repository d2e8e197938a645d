// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "inference/sampler/distribution.h"
#include "tests/inference/text_model.h"

namespace ruvd::test {

// Returns a model whose weights do not depend on the token that ends a turn; kNoToken: no token
// does.
inline std::shared_ptr<const TextModel> TextModelWithEndOfTurn(inference::TokenId end) {
  return std::make_shared<const TextModel>(
      TextModel::Defaults(), ByteTokenizer([end](inference::GgufWriter* writer) {
        if (end != inference::kNoToken) {
          writer->SetUnsigned32("tokenizer.ggml.eot_token_id", end);
        }
      }));
}

}  // namespace ruvd::test
