// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "inference/gguf/quantize_model.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/scheme.h"
#include "inference/gguf/value.h"
#include "inference/tokenizer/tokenizer.h"

// Any bytes are either refused, or they give tensors whose data can be read, values that can be
// shown, a plan for quantising them or an error, and a tokenizer or an error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto reader = ruvd::inference::GgufReader::Parse({data, size});
  if (!reader.ok()) {
    return 0;
  }
  unsigned sum = 0;
  for (const ruvd::inference::TensorInfo& tensor : (*reader)->tensors()) {
    RUVD_CHECK((*reader)->Find(tensor.name) == &tensor);
    for (const uint8_t byte : (*reader)->Data(tensor)) {
      sum += byte;
    }
  }
  static volatile unsigned sink = 0;  // keeps the compiler from removing the reads
  sink = sink + sum;
  for (const char* key : {"general.architecture", "a", "tokenizer.ggml.token_type"}) {
    (void)(*reader)->GetUnsigned(key);
    (void)(*reader)->GetFloat(key);
    (void)(*reader)->GetBool(key);
    (void)(*reader)->GetString(key);
    (void)(*reader)->GetIntArray(key);
    (void)(*reader)->GetFloatArray(key);
  }
  for (const std::string& key : (*reader)->Keys()) {
    RUVD_CHECK(!ruvd::inference::gguf::ValueText(*(*reader)->RawValue(key)).empty());
  }
  const ruvd::inference::QuantizeModelOptions options{
      .scheme = ruvd::inference::ParseQuantizationScheme("q4_k_m").value(),
      .allow_requantize = true};
  const auto plan = ruvd::inference::PlanQuantization(**reader, options);
  RUVD_CHECK(!plan.ok() || plan->size() == (*reader)->tensors().size());
  const auto tokenizer = ruvd::inference::Tokenizer::FromGguf(**reader);
  if (tokenizer.ok()) {
    (void)(*tokenizer)->Encode("Some text, 123 <|mask|>\n", true);
  }
  return 0;
}
