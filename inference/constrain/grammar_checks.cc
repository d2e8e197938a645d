// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/grammar_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

using Edge = Grammar::Edge;
using State = Grammar::State;

// Returns the states from which the end of their rule can be reached by edges that `allowed` takes.
// A call is an edge where its callee can reach its own end.
std::vector<bool> CanReachEnd(const GrammarEdges& edges,
                              const std::function<bool(const Edge&)>& allowed) {
  // The edges that depend on a state, with the states that they leave
  std::vector<std::vector<std::pair<State, const Edge*>>> sources(edges.size());
  std::vector<State> reached;
  std::vector<bool> can(edges.size());
  const auto mark = [&](State state) {
    if (!can[state]) {
      can[state] = true;
      reached.push_back(state);
    }
  };
  for (State state = 0; state < edges.size(); ++state) {
    for (const Edge& edge : edges[state]) {
      if (edge.kind == Edge::Kind::kReturn) {
        mark(state);
        continue;
      }
      sources[edge.to].emplace_back(state, &edge);
      if (edge.kind == Edge::Kind::kCall) {
        sources[edge.callee].emplace_back(state, &edge);
      }
    }
  }
  while (!reached.empty()) {
    const State state = reached.back();
    reached.pop_back();
    for (const auto& [source, edge] : sources[state]) {
      if (allowed(*edge) && can[edge->to] &&
          (edge->kind != Edge::Kind::kCall || can[edge->callee])) {
        mark(source);
      }
    }
  }
  return can;
}

// Finds circles of edges that read nothing and contain a call (Tarjan's strongly connected
// components, with a stack of its own).
class CallCircles {
 public:
  CallCircles(const GrammarEdges& edges, const std::vector<bool>& can_be_empty)
      : edges_(edges),
        can_be_empty_(can_be_empty),
        seen_(edges.size()),
        low_(edges.size()),
        component_(edges.size(), kNoComponent) {}

  bool Any() {
    for (State state = 0; state < edges_.size(); ++state) {
      if (seen_[state] == 0) {
        Visit(state);
      }
    }
    for (State state = 0; state < edges_.size(); ++state) {
      for (const Edge& edge : edges_[state]) {
        if (edge.kind == Edge::Kind::kCall && component_[state] == component_[edge.callee]) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  struct Open {
    State state = 0;
    std::vector<State> ways;  // where it leads without a byte; those not taken yet
  };

  // Returns where a state leads without a byte.
  std::vector<State> WaysOn(State state) const {
    std::vector<State> ways;
    for (const Edge& edge : edges_[state]) {
      if (edge.kind == Edge::Kind::kCall) {
        ways.push_back(edge.callee);
      }
      if (edge.kind == Edge::Kind::kEmpty ||
          (edge.kind == Edge::Kind::kCall && can_be_empty_[edge.callee])) {
        ways.push_back(edge.to);
      }
    }
    return ways;
  }

  void Begin(State state) {
    seen_[state] = low_[state] = ++count_;
    waiting_.push_back(state);
    open_.push_back({.state = state, .ways = WaysOn(state)});
  }

  void Visit(State first) {
    Begin(first);
    while (!open_.empty()) {
      Open& top = open_.back();
      if (!top.ways.empty()) {
        const State to = top.ways.back();
        top.ways.pop_back();
        if (seen_[to] == 0) {
          Begin(to);
        } else if (component_[to] == kNoComponent) {
          low_[top.state] = std::min(low_[top.state], seen_[to]);
        }
        continue;
      }
      End(top.state);
    }
  }

  void End(State state) {
    open_.pop_back();
    if (!open_.empty()) {
      low_[open_.back().state] = std::min(low_[open_.back().state], low_[state]);
    }
    if (low_[state] != seen_[state]) {
      return;
    }
    for (State one = state + 1; one != state;) {
      one = waiting_.back();
      waiting_.pop_back();
      component_[one] = state;
    }
  }

  static constexpr State kNoComponent = ~State{0};
  const GrammarEdges& edges_;
  const std::vector<bool>& can_be_empty_;
  std::vector<uint32_t> seen_;  // the order of the visits; 0: not visited
  std::vector<uint32_t> low_;
  std::vector<State> component_;
  std::vector<State> waiting_;
  std::vector<Open> open_;
  uint32_t count_ = 0;
};

}  // namespace

absl::Status RemoveDeadEnds(State start, GrammarEdges* edges) {
  const std::vector<bool> can = CanReachEnd(*edges, [](const Edge&) { return true; });
  if (!can[start]) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "no text satisfies what the completion is held to; loosen it");
  }
  for (std::vector<Edge>& of_state : *edges) {
    std::erase_if(of_state, [&](const Edge& edge) {
      return edge.kind != Edge::Kind::kReturn &&
             (!can[edge.to] || (edge.kind == Edge::Kind::kCall && !can[edge.callee]));
    });
  }
  return absl::OkStatus();
}

absl::Status RefuseLeftRecursion(const GrammarEdges& edges) {
  const std::vector<bool> can_be_empty =
      CanReachEnd(edges, [](const Edge& edge) { return edge.kind != Edge::Kind::kBytes; });
  if (CallCircles(edges, can_be_empty).Any()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a rule refers to itself before it reads anything, so it has no first character; "
                 "write the repetition with * or put what is read first");
  }
  return absl::OkStatus();
}

void MarkLastCalls(GrammarEdges* edges) {
  // The states from which only the end of the rule follows
  std::vector<bool> only_returns(edges->size());
  std::vector<std::vector<State>> sources(edges->size());  // of lone empty edges
  std::vector<State> found;
  for (State state = 0; state < edges->size(); ++state) {
    if ((*edges)[state].size() != 1) {
      continue;
    }
    const Edge& edge = (*edges)[state].front();
    if (edge.kind == Edge::Kind::kReturn) {
      found.push_back(state);
    } else if (edge.kind == Edge::Kind::kEmpty) {
      sources[edge.to].push_back(state);
    }
  }
  while (!found.empty()) {
    const State state = found.back();
    found.pop_back();
    only_returns[state] = true;
    found.insert(found.end(), sources[state].begin(), sources[state].end());
  }
  for (std::vector<Edge>& of_state : *edges) {
    for (Edge& edge : of_state) {
      edge.is_last = edge.kind == Edge::Kind::kCall && only_returns[edge.to];
    }
  }
}

}  // namespace ruvd::inference
