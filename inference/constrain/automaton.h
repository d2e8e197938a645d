// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "inference/constrain/grammar.h"

namespace ruvd::inference {

// Follows a text through a grammar, byte by byte. A state stands for all ways in which the text so
// far can be read; states and the moves between them are made when they are first needed, so that a
// text that stays in one place of the grammar, such as a long string, costs one array access a
// byte. Not thread-safe.
class Automaton {
 public:
  using State = uint32_t;
  // The state of texts that nothing makes a text of the grammar.
  static constexpr State kDead = 0;

  explicit Automaton(std::shared_ptr<const Grammar> grammar);

  State start() const { return start_; }
  // Returns the state after one more byte. Readings beyond limits::kMaxMoveWork, and those with
  // more than limits::kMaxOpenRules rules open, are left out, so some texts of a grammar may end in
  // kDead.
  State Next(State state, uint8_t byte);
  // Returns whether a text in this state is one of the grammar.
  bool CanEnd(State state) const { return states_[state].can_end; }
  // Returns whether some byte may follow.
  bool CanGoOn(State state);

  // Returns whether any reading was left out so far.
  bool is_cut() const { return is_cut_; }
  // A measure of the work so far: edges that were followed, and some more for each reading that was
  // found. A move that is remembered takes none.
  uint64_t work() const { return work_; }
  // The memory of all states, in bytes. Above limits::kMaxRememberedBytes, call Forget between two
  // bytes of the text.
  size_t bytes() const { return bytes_; }
  // Forgets all states but this one, whose new number it returns. All other numbers are void.
  State Forget(State keep);

 private:
  // A rule that is open: where to go on when the one above it returns. Frames are shared, so equal
  // stacks are one number.
  struct Frame {
    Grammar::State to = 0;
    uint32_t below = 0;  // 0: the outermost rule
    uint32_t depth = 1;
  };
  // One way to read the text: a state of the grammar that reads bytes, and the open rules.
  struct Reading {
    Grammar::State at = 0;
    uint32_t stack = 0;  // 0: no rule is open
    auto operator<=>(const Reading&) const = default;
  };
  using Readings = std::vector<Reading>;  // ascending, each once
  struct Known {
    Readings readings;
    bool can_end = false;
    std::array<State, 256> next;  // kUnknown where no move was made yet
  };
  static constexpr State kUnknown = ~State{0};

  uint32_t Push(Grammar::State to, uint32_t below);
  // Returns the state of these readings and of all that they become without reading a byte.
  State Close(const Readings& moved);
  State Intern(Readings readings, bool can_end);

  const std::shared_ptr<const Grammar> grammar_;
  std::vector<Frame> frames_;  // from 1 on
  std::map<std::pair<Grammar::State, uint32_t>, uint32_t> frame_numbers_;
  std::vector<Known> states_;
  std::map<std::pair<Readings, bool>, State> numbers_;
  State start_ = kDead;
  uint64_t work_ = 0;
  bool is_cut_ = false;
  size_t bytes_ = 0;
};

// Returns whether a whole text is one of the grammar.
bool Matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text);

}  // namespace ruvd::inference
