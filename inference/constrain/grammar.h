// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::inference {

// A context-free grammar over bytes, as a set of automata that call each other: the form in which
// completions are held to a JSON schema, a regular expression, a list of choices or a GBNF grammar.
// Immutable and thread-safe.
class Grammar {
 public:
  using State = uint32_t;
  // One way on from a state.
  struct Edge {
    enum class Kind : uint8_t {
      kBytes,   // reads a byte from low to high
      kEmpty,   // reads nothing
      kCall,    // reads what the rule that begins at `callee` reads
      kReturn,  // ends the rule
    };
    Kind kind = Kind::kEmpty;
    uint8_t low = 0;
    uint8_t high = 0;
    // Whether nothing is read between the end of the callee and that of the rule, so that the call
    // need not be remembered.
    bool is_last = false;
    State to = 0;  // not read for kReturn
    State callee = 0;
  };

  State start() const { return start_; }
  size_t states() const { return first_.size() - 1; }
  // Returns the edges of a state, those that read a byte first.
  std::span<const Edge> EdgesOf(State state) const {
    return std::span(edges_).subspan(first_[state], first_[state + 1] - first_[state]);
  }

  // Returns whether a byte can be read in a state.
  bool Reads(State state) const {
    const std::span<const Edge> edges = EdgesOf(state);
    return !edges.empty() && edges.front().kind == Edge::Kind::kBytes;
  }

 private:
  friend class GrammarBuilder;
  Grammar() = default;

  State start_ = 0;
  std::vector<uint32_t> first_ = {0};  // of each state's edges, and the end of the last one's
  std::vector<Edge> edges_;
};

// Builds a grammar out of expressions. An expression may be used many times. Not thread-safe.
class GrammarBuilder {
 public:
  // An expression, owned by the builder.
  using Expression = uint32_t;
  // A rule, which may be called before it is defined, also by itself.
  using Rule = uint32_t;
  // The largest number of repetitions that is written out.
  static constexpr int kUnbounded = -1;

  // Reads nothing.
  Expression Empty();
  // Reads these bytes. The empty text reads nothing.
  Expression Literal(std::string_view bytes);
  // Reads one byte from low to high.
  Expression Byte(uint8_t low, uint8_t high);
  // Reads one character of UTF-8 in one of these ranges of code points, both ends included.
  // Surrogates and code points above 0x10FFFF are never read. No range reads nothing at all: such
  // an expression cannot be satisfied.
  Expression Characters(std::span<const std::pair<uint32_t, uint32_t>> ranges);
  // Reads one character of UTF-8 in none of these ranges.
  Expression CharactersExcept(std::span<const std::pair<uint32_t, uint32_t>> ranges);
  // Reads all in turn.
  Expression Sequence(std::span<const Expression> parts);
  // Reads one of them. An empty choice cannot be satisfied.
  Expression Choice(std::span<const Expression> options);
  // Reads it `least` to `most` times; most = kUnbounded: any number of times from `least` on.
  Expression Repeat(Expression part, int least, int most);
  Expression Optional(Expression part) { return Repeat(part, 0, 1); }

  Rule AddRule();
  // Reads what the rule reads.
  Expression Call(Rule rule);
  // Says what a rule reads. Call it once for every rule that is called.
  void Define(Rule rule, Expression body);

  // Returns the grammar that reads `start`. INVALID_ARGUMENT, with a message for the author of the
  // grammar, if nothing satisfies it, if a rule calls itself before it reads a byte (left
  // recursion), or if it has more than limits::kMaxGrammarStates states or limits::kMaxGrammarEdges
  // edges. CHECK-fails for a rule without definition.
  absl::StatusOr<std::shared_ptr<const Grammar>> Build(Expression start) const;

 private:
  enum class Op : uint8_t { kEmpty, kByte, kSequence, kChoice, kRepeat, kCall };
  struct Node {
    Op op = Op::kEmpty;
    uint8_t low = 0;
    uint8_t high = 0;
    int least = 0;
    int most = 0;
    Rule rule = 0;
    std::vector<Expression> parts;
  };
  class Compiler;

  Expression Add(Node node);

  std::vector<Node> nodes_;
  std::vector<Expression> bodies_;  // by rule; kUndefined before Define
};

}  // namespace ruvd::inference
