// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Any bytes are either refused, with a reason and a message in UTF-8, or are a grammar in GBNF
// whose texts can be followed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/utf8.h"
#include "inference/constrain/automaton.h"
#include "inference/constrain/gbnf.h"

namespace {

// Far enough to read a few characters and to open a few rules
constexpr int kSteps = 16;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using ruvd::inference::Automaton;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto grammar = ruvd::inference::GrammarOfGbnf(text);
  if (!grammar.ok()) {
    const std::string message = ruvd::MessageOf(grammar.status());
    RUVD_CHECK(!ruvd::ReasonOf(grammar.status()).empty() && !message.empty() &&
               ruvd::IsUtf8(message));
    return 0;
  }
  Matches(*grammar, text);
  Automaton automaton(*grammar);
  Automaton::State state = automaton.start();
  for (int step = 0; step < kSteps && automaton.CanGoOn(state); ++step) {
    Automaton::State next = Automaton::kDead;
    // The bytes are tried from another one on at each step, so that not only the first one is read.
    const unsigned first = size == 0 ? 0 : data[step % size];
    for (unsigned byte = 0; byte < 256 && next == Automaton::kDead; ++byte) {
      next = automaton.Next(state, static_cast<uint8_t>(first + byte));
    }
    state = step == kSteps / 2 ? automaton.Forget(next) : next;
  }
  return 0;
}
