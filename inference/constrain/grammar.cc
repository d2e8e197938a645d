// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/grammar.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/constrain/grammar_checks.h"
#include "inference/constrain/limits.h"
#include "inference/constrain/utf8_ranges.h"

namespace ruvd::inference {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};
using Edge = Grammar::Edge;
using State = Grammar::State;

}  // namespace

// Turns expressions into states and edges (Thompson's construction). Work waits on a stack of its
// own, because expressions may be nested deeper than the thread's.
class GrammarBuilder::Compiler {
 public:
  explicit Compiler(const GrammarBuilder& builder)
      : builder_(builder), rules_(builder.bodies_.size(), kNone) {}

  // Compiles an expression as the whole text and returns its first state.
  absl::StatusOr<State> Compile(Expression start) {
    const State first = BeginRule(start);
    // Work that adds neither states nor edges is bound, too, such as choices that read nothing.
    constexpr size_t kMostWork = 4 * limits::kMaxGrammarEdges;
    size_t done = 0;
    const auto is_within = [&] {
      return edge_count_ <= limits::kMaxGrammarEdges &&
             edges_.size() <= limits::kMaxGrammarStates && done + work_.size() <= kMostWork;
    };
    for (; !work_.empty() && is_within(); ++done) {
      const Work next = work_.back();
      work_.pop_back();
      Emit(next);
    }
    if (!is_within()) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "what the completion is held to needs more than {} states or {} edges; make it "
                   "shorter, or use smaller numbers of repetitions",
                   limits::kMaxGrammarStates, limits::kMaxGrammarEdges);
    }
    return first;
  }

  std::vector<std::vector<Edge>> TakeEdges() { return std::move(edges_); }

 private:
  struct Work {
    Expression expression = 0;
    State from = 0;
    State to = 0;
  };

  State NewState() {
    edges_.emplace_back();
    return static_cast<State>(edges_.size() - 1);
  }
  void AddEdge(State from, Edge edge) {
    edges_[from].push_back(edge);
    ++edge_count_;
  }
  State BeginRule(Expression body) {
    const State first = NewState();
    const State last = NewState();
    AddEdge(last, {.kind = Edge::Kind::kReturn});
    work_.push_back({body, first, last});
    return first;
  }

  void Emit(const Work& work) {
    const Node& node = builder_.nodes_[work.expression];
    switch (node.op) {
      case Op::kEmpty:
        AddEdge(work.from, {.kind = Edge::Kind::kEmpty, .to = work.to});
        return;
      case Op::kByte:
        AddEdge(work.from,
                {.kind = Edge::Kind::kBytes, .low = node.low, .high = node.high, .to = work.to});
        return;
      case Op::kSequence:
        EmitSequence(node, work);
        return;
      case Op::kChoice:
        for (const Expression option : node.parts) {
          work_.push_back({option, work.from, work.to});
        }
        return;
      case Op::kRepeat:
        EmitRepeat(node, work);
        return;
      case Op::kCall:
        EmitCall(node.rule, work);
        return;
    }
  }

  void EmitSequence(const Node& node, const Work& work) {
    State at = work.from;
    for (size_t i = 0; i < node.parts.size(); ++i) {
      const State next = i + 1 == node.parts.size() ? work.to : NewState();
      work_.push_back({node.parts[i], at, next});
      at = next;
    }
  }

  void EmitRepeat(const Node& node, const Work& work) {
    const Expression part = node.parts.front();
    State at = work.from;
    const auto copy = [&] {
      const State next = NewState();
      work_.push_back({part, at, next});
      at = next;
    };
    for (int i = 0; i < node.least && edges_.size() <= limits::kMaxGrammarStates; ++i) {
      copy();
    }
    if (node.most == kUnbounded) {
      const State loop = NewState();
      AddEdge(at, {.kind = Edge::Kind::kEmpty, .to = loop});
      work_.push_back({part, loop, loop});
      at = loop;
    }
    for (int i = node.least; i < node.most && edges_.size() <= limits::kMaxGrammarStates; ++i) {
      AddEdge(at, {.kind = Edge::Kind::kEmpty, .to = work.to});
      copy();
    }
    AddEdge(at, {.kind = Edge::Kind::kEmpty, .to = work.to});
  }

  void EmitCall(Rule rule, const Work& work) {
    if (rules_[rule] == kNone) {
      RUVD_CHECK(builder_.bodies_[rule] != kNone);
      rules_[rule] = BeginRule(builder_.bodies_[rule]);
    }
    AddEdge(work.from, {.kind = Edge::Kind::kCall, .to = work.to, .callee = rules_[rule]});
  }

  const GrammarBuilder& builder_;
  std::vector<State> rules_;  // first states; kNone: not compiled yet
  std::vector<std::vector<Edge>> edges_;
  size_t edge_count_ = 0;
  std::vector<Work> work_;
};

GrammarBuilder::Expression GrammarBuilder::Add(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<Expression>(nodes_.size() - 1);
}

GrammarBuilder::Expression GrammarBuilder::Empty() {
  return Add({.op = Op::kEmpty});
}

GrammarBuilder::Expression GrammarBuilder::Byte(uint8_t low, uint8_t high) {
  RUVD_CHECK(low <= high);
  return Add({.op = Op::kByte, .low = low, .high = high});
}

GrammarBuilder::Expression GrammarBuilder::Literal(std::string_view bytes) {
  std::vector<Expression> parts;
  for (const char byte : bytes) {
    parts.push_back(Byte(static_cast<uint8_t>(byte), static_cast<uint8_t>(byte)));
  }
  return Sequence(parts);
}

GrammarBuilder::Expression GrammarBuilder::Characters(
    std::span<const std::pair<uint32_t, uint32_t>> ranges) {
  std::vector<Expression> options;
  for (const std::vector<ByteRange>& sequence : Utf8Sequences(ranges)) {
    std::vector<Expression> bytes;
    for (const ByteRange& range : sequence) {
      bytes.push_back(Byte(range.low, range.high));
    }
    options.push_back(Sequence(bytes));
  }
  return Choice(options);
}

GrammarBuilder::Expression GrammarBuilder::CharactersExcept(
    std::span<const std::pair<uint32_t, uint32_t>> ranges) {
  return Characters(OtherCodePoints(ranges));
}

GrammarBuilder::Expression GrammarBuilder::Sequence(std::span<const Expression> parts) {
  if (parts.empty()) {
    return Empty();
  }
  return parts.size() == 1 ? parts.front()
                           : Add({.op = Op::kSequence, .parts = {parts.begin(), parts.end()}});
}

GrammarBuilder::Expression GrammarBuilder::Choice(std::span<const Expression> options) {
  return Add({.op = Op::kChoice, .parts = {options.begin(), options.end()}});
}

GrammarBuilder::Expression GrammarBuilder::Repeat(Expression part, int least, int most) {
  RUVD_CHECK(least >= 0 && (most == kUnbounded || most >= least));
  return Add({.op = Op::kRepeat, .least = least, .most = most, .parts = {part}});
}

GrammarBuilder::Rule GrammarBuilder::AddRule() {
  bodies_.push_back(kNone);
  return static_cast<Rule>(bodies_.size() - 1);
}

GrammarBuilder::Expression GrammarBuilder::Call(Rule rule) {
  RUVD_CHECK(rule < bodies_.size());
  return Add({.op = Op::kCall, .rule = rule});
}

void GrammarBuilder::Define(Rule rule, Expression body) {
  RUVD_CHECK(bodies_[rule] == kNone);
  bodies_[rule] = body;
}

absl::StatusOr<std::shared_ptr<const Grammar>> GrammarBuilder::Build(Expression start) const {
  Compiler compiler(*this);
  ASSIGN_OR_RETURN(const State first, compiler.Compile(start));
  std::vector<std::vector<Edge>> edges = compiler.TakeEdges();
  RETURN_IF_ERROR(RemoveDeadEnds(first, &edges));
  RETURN_IF_ERROR(RefuseLeftRecursion(edges));
  MarkLastCalls(&edges);
  std::shared_ptr<Grammar> grammar(new Grammar());
  grammar->start_ = first;
  for (std::vector<Edge>& of_state : edges) {
    std::ranges::stable_partition(of_state,
                                  [](const Edge& edge) { return edge.kind == Edge::Kind::kBytes; });
    grammar->edges_.insert(grammar->edges_.end(), of_state.begin(), of_state.end());
    grammar->first_.push_back(static_cast<uint32_t>(grammar->edges_.size()));
  }
  return grammar;
}

}  // namespace ruvd::inference
