// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/automaton.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "inference/constrain/limits.h"

namespace ruvd::inference {

using Edge = Grammar::Edge;

namespace {

// What it costs to find a reading in the set of those that were seen, in edges that are followed
constexpr uint64_t kWorkOfReading = 8;
// A frame, and its number in the map
constexpr size_t kBytesOfFrame = 80;

}  // namespace

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
    bytes_ += kBytesOfFrame;
  }
  return found->second;
}

Automaton::State Automaton::Close(const Readings& moved) {
  struct Open {
    Reading reading;
    size_t edge = 0;  // the next one
  };
  std::vector<Open> open;
  Readings closed;
  bool can_end = false;
  std::unordered_set<uint64_t> seen;
  const auto add = [&](const Reading& found) {
    work_ += kWorkOfReading;
    if (seen.insert((uint64_t{found.at} << 32) | found.stack).second) {
      open.push_back({.reading = found});
      if (grammar_->Reads(found.at)) {
        closed.push_back(found);
      }
    }
  };
  const uint64_t most_work = work_ + limits::kMaxMoveWork;
  // Each reading is followed to its end before the next one, so that some are whole if the rest is
  // left out.
  for (const Reading& first : moved) {
    add(first);
    while (!open.empty() && work_ <= most_work) {
      Open& top = open.back();
      const std::span<const Edge> edges = grammar_->EdgesOf(top.reading.at);
      if (top.edge == edges.size()) {
        open.pop_back();
        continue;
      }
      ++work_;
      const Edge& edge = edges[top.edge++];
      const Reading at = top.reading;
      switch (edge.kind) {
        case Edge::Kind::kBytes:
          break;
        case Edge::Kind::kEmpty:
          add({.at = edge.to, .stack = at.stack});
          break;
        case Edge::Kind::kCall:
          if (edge.is_last) {
            add({.at = edge.callee, .stack = at.stack});
          } else if (frames_[at.stack].depth <= limits::kMaxOpenRules) {
            add({.at = edge.callee, .stack = Push(edge.to, at.stack)});
          } else {
            is_cut_ = true;
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
  }
  is_cut_ = is_cut_ || work_ > most_work;
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
  Readings moved;
  const uint64_t most_work = work_ + limits::kMaxMoveWork;
  for (const Reading& reading : states_[state].readings) {
    for (const Edge& edge : grammar_->EdgesOf(reading.at)) {
      if (edge.kind != Edge::Kind::kBytes) {
        break;  // those that read come first
      }
      ++work_;
      if (edge.low <= byte && byte <= edge.high) {
        moved.push_back({.at = edge.to, .stack = reading.stack});
      }
    }
    if (work_ > most_work) {
      is_cut_ = true;
      break;
    }
  }
  const State next = moved.empty() ? kDead : Close(moved);
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
