// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/constrain/automaton.h"

namespace ruvd::test {

// Checks what was made of any bytes: a refusal has a reason and a message in UTF-8, and the texts
// of a grammar can be followed.
inline void CheckGrammar(const absl::StatusOr<std::shared_ptr<const inference::Grammar>>& grammar,
                         std::string_view input) {
  using inference::Automaton;
  // Far enough to read a few characters and to open a few rules
  constexpr size_t kSteps = 16;
  if (!grammar.ok()) {
    const std::string message = MessageOf(grammar.status());
    RUVD_CHECK(!ReasonOf(grammar.status()).empty() && !message.empty() && IsUtf8(message));
    return;
  }
  Matches(*grammar, input);
  Automaton automaton(*grammar);
  Automaton::State state = automaton.start();
  for (size_t step = 0; step < kSteps && automaton.CanGoOn(state); ++step) {
    Automaton::State next = Automaton::kDead;
    // The bytes are tried from another one on at each step, so that not only the first one is read.
    const unsigned first = input.empty() ? 0 : static_cast<uint8_t>(input[step % input.size()]);
    for (unsigned byte = 0; byte < 256 && next == Automaton::kDead; ++byte) {
      next = automaton.Next(state, static_cast<uint8_t>(first + byte));
    }
    state = step == kSteps / 2 ? automaton.Forget(next) : next;
  }
}

}  // namespace ruvd::test
