// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Any bytes are either refused or are a grammar in GBNF whose texts can be followed.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "inference/constrain/gbnf.h"
#include "tests/fuzz/grammar_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ruvd::test::CheckGrammar(ruvd::inference::GrammarOfGbnf(text), text);
  return 0;
}
