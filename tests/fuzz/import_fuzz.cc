// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/import/hf_config.h"
#include "inference/import/hf_tokenizer.h"
#include "inference/import/hf_tokenizer_config.h"
#include "inference/import/hf_weights.h"
#include "inference/import/safetensors.h"

// The first byte picks one of the importer's five parsers; any bytes give a value or one error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::span<const uint8_t> rest(data + 1, size - 1);
  constexpr uint64_t kVocabulary = 512;
  switch (data[0] % 5) {
    case 0: {
      const auto tensors = ruvd::inference::ParseSafetensors(rest);
      if (tensors.ok()) {
        for (const auto& [name, tensor] : *tensors) {
          RUVD_CHECK(tensor.ToFloat().size() * ruvd::inference::BlockBytes(tensor.type) ==
                     tensor.bytes.size());
        }
      }
      break;
    }
    case 1:
      (void)ruvd::inference::ParseHfConfig(ruvd::AsText(rest));
      break;
    case 2:
      (void)ruvd::inference::ParseSafetensorsIndex(ruvd::AsText(rest));
      break;
    case 3:
      (void)ruvd::inference::ParseHfTokenizerConfig(ruvd::AsText(rest));
      break;
    default: {
      const auto tokenizer = ruvd::inference::ParseHfTokenizer(ruvd::AsText(rest), kVocabulary);
      if (tokenizer.ok()) {
        const bool pieces = tokenizer->model == "llama";
        RUVD_CHECK(tokenizer->tokens.size() == kVocabulary);
        RUVD_CHECK(tokenizer->types.size() == kVocabulary);
        RUVD_CHECK(tokenizer->scores.size() == (pieces ? kVocabulary : 0));
        RUVD_CHECK(!pieces || tokenizer->merges.empty());
      }
    }
  }
  return 0;
}
