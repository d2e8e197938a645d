// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/automaton.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "inference/constrain/limits.h"

namespace ruvd::inference {

using Edge = Grammar::Edge;

Automaton::Automaton(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)) {
  frames_.emplace_back();
  Intern({}, false);  // kDead
  start_ = Close({{.at = grammar_->start()}});
}

uint32_t Automaton::Push(Grammar::State to, uint32_t below) {
  const auto [found, is_new] =
      frame_numbers_.emplace(std::pair(to, below), static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    frames_.push_back({.to = to, .below = below, .depth = frames_[below].depth + 1});
  }
  return found->second;
}

Automaton::State Automaton::Close(std::vector<Reading> open) {
  Readings closed;
  bool can_end = false;
  std::unordered_set<uint64_t> seen;
  const auto add = [&](const Reading& found) {
    const uint64_t number = (uint64_t{found.at} << 32) | found.stack;
    if (seen.insert(number).second) {
      open.push_back(found);
    }
  };
  // The last one found goes on first, so that what is kept within the limits reads bytes.
  for (size_t i = 0;
       !open.empty() && closed.size() < limits::kMaxReadings && i < limits::kMaxReadingsSeen; ++i) {
    const Reading at = open.back();
    open.pop_back();
    bool reads = false;
    for (const Edge& edge : grammar_->EdgesOf(at.at)) {
      ++work_;
      switch (edge.kind) {
        case Edge::Kind::kBytes:
          reads = true;
          break;
        case Edge::Kind::kEmpty:
          add({.at = edge.to, .stack = at.stack});
          break;
        case Edge::Kind::kCall:
          if (edge.is_last) {
            add({.at = edge.callee, .stack = at.stack});
          } else if (frames_[at.stack].depth <= limits::kMaxOpenRules) {
            add({.at = edge.callee, .stack = Push(edge.to, at.stack)});
          }
          break;
        case Edge::Kind::kReturn:
          if (at.stack == 0) {
            can_end = true;
          } else {
            add({.at = frames_[at.stack].to, .stack = frames_[at.stack].below});
          }
          break;
      }
    }
    if (reads) {
      closed.push_back(at);
    }
  }
  return Intern(std::move(closed), can_end);
}

Automaton::State Automaton::Intern(Readings readings, bool can_end) {
  std::ranges::sort(readings);
  readings.erase(std::unique(readings.begin(), readings.end()), readings.end());
  const auto [found, is_new] =
      numbers_.emplace(std::pair(readings, can_end), static_cast<State>(states_.size()));
  if (is_new) {
    Known& known = states_.emplace_back();
    known.readings = std::move(readings);
    known.can_end = can_end;
    known.next.fill(kUnknown);
    bytes_ += sizeof(Known) + 2 * sizeof(Reading) * known.readings.size();
  }
  return found->second;
}

Automaton::State Automaton::Next(State state, uint8_t byte) {
  if (states_[state].next[byte] != kUnknown) {
    return states_[state].next[byte];
  }
  std::vector<Reading> moved;
  for (const Reading& reading : states_[state].readings) {
    for (const Edge& edge : grammar_->EdgesOf(reading.at)) {
      ++work_;
      if (edge.kind == Edge::Kind::kBytes && edge.low <= byte && byte <= edge.high) {
        moved.push_back({.at = edge.to, .stack = reading.stack});
      }
    }
  }
  const State next = moved.empty() ? kDead : Close(std::move(moved));
  states_[state].next[byte] = next;
  return next;
}

bool Automaton::CanGoOn(State state) {
  return !states_[state].readings.empty();
}

Automaton::State Automaton::Forget(State keep) {
  const Known kept = std::move(states_[keep]);
  const std::vector<Frame> frames = std::exchange(frames_, {});
  frame_numbers_.clear();
  states_.clear();
  numbers_.clear();
  bytes_ = 0;
  frames_.emplace_back();
  Intern({}, false);
  // The outermost frames come first, so that those above them find their new numbers.
  const auto renew = [&](uint32_t stack) {
    std::vector<Grammar::State> open;
    for (uint32_t frame = stack; frame != 0; frame = frames[frame].below) {
      open.push_back(frames[frame].to);
    }
    uint32_t renewed = 0;
    for (size_t i = open.size(); i-- > 0;) {
      renewed = Push(open[i], renewed);
    }
    return renewed;
  };
  start_ = Close({{.at = grammar_->start()}});
  Readings renewed;
  for (const Reading& reading : kept.readings) {
    renewed.push_back({.at = reading.at, .stack = renew(reading.stack)});
  }
  return Intern(std::move(renewed), kept.can_end);
}

bool Matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Automaton automaton(grammar);
  Automaton::State state = automaton.start();
  for (const char byte : text) {
    state = automaton.Next(state, static_cast<uint8_t>(byte));
    if (state == Automaton::kDead) {
      return false;
    }
    if (automaton.bytes() > limits::kMaxRememberedBytes) {
      state = automaton.Forget(state);
    }
  }
  return automaton.CanEnd(state);
}

}  // namespace ruvd::inference
