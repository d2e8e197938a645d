// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "inference/evaluate/text_documents.h"

// The first byte chooses the format; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  constexpr std::string_view kNames[] = {"x.jsonl", "x.jsonl.zst", "x.txt.zst"};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)ruvd::inference::ParseTextDocuments(bytes, kNames[data[0] % 3]);
  return 0;
}
