// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/utf8.h"
#include "inference/tokenizer/unicode.h"

namespace ruvd::test {

// The characters of a text of valid UTF-8.
inline std::u32string CodePoints(std::string_view text) {
  std::u32string out;
  while (!text.empty()) {
    const Utf8Char next = FirstUtf8Char(text);
    out += next.code_point;
    text.remove_prefix(next.length);
  }
  return out;
}

// A slow and simple backtracking matcher for the regular expressions of pre-tokenisers. The
// supported syntax is alternatives, (?:) (?i:) (?!), [] and [^], ranges, \s \S \r
//  \p{L|M|N|P}, $ and the repetitions `?` `*` `+` `{m,n}`. Case is ignored for ASCII letters only.
class BacktrackingRegex {
 public:
  explicit BacktrackingRegex(std::string_view pattern) : pattern_(CodePoints(pattern)) {
    root_ = ParseAlternatives();
    RUVD_CHECK(at_ == pattern_.size());
  }

  // Returns the end of the match that starts at `begin`, if there is one.
  std::optional<size_t> Match(std::u32string_view text, size_t begin) const {
    std::optional<size_t> end;
    Try(*root_, text, begin, [&](size_t at) {
      end = at;
      return true;
    });
    return end;
  }

 private:
  using Next = std::function<bool(size_t)>;
  struct Node {
    enum Kind { kSet, kSequence, kAlternatives, kRepeat, kNotAhead, kEnd } kind = kSequence;
    std::function<bool(char32_t)> set;
    std::vector<std::unique_ptr<Node>> parts;
    size_t least = 0;
    size_t most = SIZE_MAX;
  };
  using NodePointer = std::unique_ptr<Node>;

  bool Try(const Node& node, std::u32string_view text, size_t at, const Next& next) const {
    switch (node.kind) {
      case Node::kSet:
        return at < text.size() && node.set(text[at]) && next(at + 1);
      case Node::kSequence:
        return TrySequence(node, 0, text, at, next);
      case Node::kAlternatives:
        for (const NodePointer& part : node.parts) {
          if (Try(*part, text, at, next)) {
            return true;
          }
        }
        return false;
      case Node::kRepeat:
        return TryRepeat(node, 0, text, at, next);
      case Node::kNotAhead:
        return !Try(*node.parts[0], text, at, [](size_t) { return true; }) && next(at);
      case Node::kEnd:
        return at == text.size() && next(at);
    }
    return false;
  }
  bool TrySequence(const Node& node, size_t part, std::u32string_view text, size_t at,
                   const Next& next) const {
    if (part == node.parts.size()) {
      return next(at);
    }
    return Try(*node.parts[part], text, at,
               [&](size_t end) { return TrySequence(node, part + 1, text, end, next); });
  }
  bool TryRepeat(const Node& node, size_t count, std::u32string_view text, size_t at,
                 const Next& next) const {
    const bool more =
        count < node.most &&
        Try(
            *node.parts[0], text, at,
            [&](size_t end) { return end > at && TryRepeat(node, count + 1, text, end, next); });
    return more || (count >= node.least && next(at));
  }

  char32_t Peek() const { return at_ < pattern_.size() ? pattern_[at_] : U'\0'; }
  bool Take(std::u32string_view expected) {
    if (std::u32string_view(pattern_).substr(at_).starts_with(expected)) {
      at_ += expected.size();
      return true;
    }
    return false;
  }

  NodePointer ParseAlternatives() {
    auto out = std::make_unique<Node>();
    out->kind = Node::kAlternatives;
    do {
      auto sequence = std::make_unique<Node>();
      while (at_ < pattern_.size() && Peek() != U'|' && Peek() != U')') {
        sequence->parts.push_back(ParseRepeat());
      }
      out->parts.push_back(std::move(sequence));
    } while (Take(U"|"));
    return out;
  }
  NodePointer ParseRepeat() {
    NodePointer atom = ParseAtom();
    size_t least = 0;
    size_t most = SIZE_MAX;
    if (Take(U"?")) {
      most = 1;
    } else if (Take(U"+")) {
      least = 1;
    } else if (Take(U"{")) {
      least = static_cast<size_t>(pattern_[at_++] - U'0');
      most = Take(U",") ? static_cast<size_t>(pattern_[at_++] - U'0') : least;
      RUVD_CHECK(Take(U"}"));
    } else if (!Take(U"*")) {
      return atom;
    }
    auto out = std::make_unique<Node>();
    out->kind = Node::kRepeat;
    out->least = least;
    out->most = most;
    out->parts.push_back(std::move(atom));
    return out;
  }
  NodePointer ParseAtom() {
    auto out = std::make_unique<Node>();
    if (Take(U"$")) {
      out->kind = Node::kEnd;
      return out;
    }
    if (Take(U"(?!")) {
      out->kind = Node::kNotAhead;
      out->parts.push_back(ParseAlternatives());
    } else if (Take(U"(?i:")) {
      const bool before = std::exchange(ignore_case_, true);
      out = ParseAlternatives();
      ignore_case_ = before;
    } else if (Take(U"(?:")) {
      out = ParseAlternatives();
    } else {
      out->kind = Node::kSet;
      out->set = Peek() == U'[' ? ParseClass() : ParseSet().first;
      return out;
    }
    RUVD_CHECK(Take(U")"));
    return out;
  }
  std::function<bool(char32_t)> ParseClass() {
    RUVD_CHECK(Take(U"["));
    const bool negated = Take(U"^");
    std::vector<std::function<bool(char32_t)>> members;
    while (!Take(U"]")) {
      auto [set, low] = ParseSet();
      if (low && Peek() == U'-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != U']') {
        ++at_;
        const char32_t high = *ParseSet().second;
        members.emplace_back([from = *low, high](char32_t c) { return c >= from && c <= high; });
      } else {
        members.push_back(set);
      }
    }
    return [members, negated](char32_t c) {
      bool in = false;
      for (const auto& member : members) {
        in = in || member(c);
      }
      return in != negated;
    };
  }
  // One character or escape; the second part is the character where it is one.
  std::pair<std::function<bool(char32_t)>, std::optional<char32_t>> ParseSet() {
    char32_t c = pattern_[at_++];
    if (c == U'\\') {
      c = pattern_[at_++];
      if (c == U'p') {
        return {ParseCategory(), std::nullopt};
      }
      if (c == U's' || c == U'S') {
        const bool wanted = c == U's';
        return {[wanted](char32_t x) {
                  return (inference::ClassOf(x) == inference::CharClass::kWhiteSpace) == wanted;
                },
                std::nullopt};
      }
      c = c == U'r' ? U'\r' : c == U'n' ? U'\n' : c;
    }
    const bool any_case = ignore_case_ && ((c | 0x20) >= U'a' && (c | 0x20) <= U'z');
    return {[c, any_case](char32_t x) { return x == c || (any_case && (x | 0x20) == (c | 0x20)); },
            c};
  }
  std::function<bool(char32_t)> ParseCategory() {
    const char32_t name = pattern_[at_ + 1];
    at_ += 3;
    const inference::CharClass wanted = name == U'L'   ? inference::CharClass::kLetter
                                        : name == U'N' ? inference::CharClass::kNumber
                                        : name == U'M' ? inference::CharClass::kMark
                                                       : inference::CharClass::kPunctuation;
    return [wanted](char32_t c) { return inference::ClassOf(c) == wanted; };
  }

  std::u32string pattern_;
  size_t at_ = 0;
  bool ignore_case_ = false;
  NodePointer root_;
};

}  // namespace ruvd::test
