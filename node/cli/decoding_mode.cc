// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/decoding_mode.h"

namespace ruvd::cli {

inference::v1::DecodingMode DecodingModeByName(std::string_view name) {
  if (name == "diffusion") {
    return inference::v1::DECODING_MODE_DIFFUSION;
  }
  if (name == "block") {
    return inference::v1::DECODING_MODE_BLOCK;
  }
  if (name == "ar") {
    return inference::v1::DECODING_MODE_AUTOREGRESSIVE;
  }
  return inference::v1::DECODING_MODE_UNSPECIFIED;
}

void AddDecodingModeFlag(Verb verb, std::string& mode) {
  verb.Option("--mode", mode, "Decoding mode: auto (the model's best), diffusion, block or ar")
      .OneOf({"auto", "diffusion", "block", "ar"});
}

}  // namespace ruvd::cli
