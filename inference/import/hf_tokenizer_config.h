// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "inference/import/hf_config.h"
#include "inference/import/hf_tokenizer.h"

namespace ruvd::inference {

// What tokenizer_config.json adds to tokenizer.json; everything is optional.
struct HfTokenizerConfig {
  std::optional<std::string> bos, eos, pad, mask;  // spellings
  std::optional<bool> add_bos;
  std::string chat_template;  // Jinja; empty: none
};

// MODEL_CORRUPT for a text that is no JSON object. Members of another type than expected count as
// absent. Of several chat templates the one named "default" is taken.
absl::StatusOr<HfTokenizerConfig> ParseHfTokenizerConfig(std::string_view text);

// Sets the special ids that `config` lacks to the tokens of these spellings, where there are any,
// and tokenizer->add_bos to what is said here; config->end_of_turn to the token that ends a turn in
// the form that tokenizer->chat_template writes. A template set before stays. A text of llada
// begins with the bos token whatever the files say, as in llama.cpp's converter.
void ApplyTokenizerConfig(const HfTokenizerConfig& from, HfTokenizer* tokenizer, HfConfig* config);

}  // namespace ruvd::inference
