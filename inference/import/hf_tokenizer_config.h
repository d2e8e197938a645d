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

// The content of tokenizer_config.json that is not in tokenizer.json. Everything is optional.
struct HfTokenizerConfig {
  std::optional<std::string> bos, eos, pad, mask;  // spellings
  std::optional<bool> add_bos;
  std::string chat_template;  // Jinja; empty if absent
};

// MODEL_CORRUPT for a text that is not a JSON object. Members of another type than expected count
// as absent. If there are several chat templates, the one named "default" is used.
absl::StatusOr<HfTokenizerConfig> ParseHfTokenizerConfig(std::string_view text);

// Sets the special ids that `config` does not have to the tokens with these spellings, if they
// exist; tokenizer->add_bos to the value in `from`; and config->end_of_turn to the token that ends
// a turn in the format that tokenizer->chat_template writes. A chat template that is already set is
// kept. A text of llada begins with the bos token whatever the files say, as in llama.cpp's
// converter.
void ApplyTokenizerConfig(const HfTokenizerConfig& from, HfTokenizer* tokenizer, HfConfig* config);

}  // namespace ruvd::inference
