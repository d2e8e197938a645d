// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/special_tokens.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ruvd::inference {
namespace {

bool IsAsciiSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string LowerCase(std::string text) {
  for (char& c : text) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

}  // namespace

SpecialTokens::SpecialTokens(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.pieces.size(); ++id) {
    const bool control =
        vocabulary.IsKind(id, TokenKind::kControl) || vocabulary.IsKind(id, TokenKind::kUnknown);
    if ((control || vocabulary.IsKind(id, TokenKind::kUserDefined)) &&
        !vocabulary.pieces[id].empty()) {
      tokens_.push_back({std::string(vocabulary.pieces[id]), id, 0, control});
      starts_.at(static_cast<uint8_t>(vocabulary.pieces[id][0])) = true;
    }
  }
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const Token& a, const Token& b) { return a.text.size() > b.text.size(); });
  for (uint32_t order = 0; order < tokens_.size(); ++order) {
    tokens_[order].order = order;
  }
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const Token& a, const Token& b) { return a.text < b.text; });
  DropRepeated();
  ReadStripRules(vocabulary);
}

// If several tokens have the same spelling, the smallest id is used; control tokens and other
// tokens are counted separately.
void SpecialTokens::DropRepeated() {
  std::vector<Token> kept;
  for (Token& token : tokens_) {
    bool repeated = false;
    for (size_t i = kept.size(); i > 0 && kept[i - 1].text == token.text; --i) {
      repeated |= kept[i - 1].control == token.control;
    }
    if (!repeated) {
      kept.push_back(std::move(token));
    }
  }
  tokens_ = std::move(kept);
}

// GGUF has no key for these attributes. llama.cpp recognises these models by their name.
void SpecialTokens::ReadStripRules(const Vocabulary& vocabulary) {
  const std::string name = LowerCase(vocabulary.model_name);
  const bool phi3 = name.find("phi-3") != std::string::npos ||  //
                    name.find("phi3") != std::string::npos;
  const bool modern_bert = name.find("modern-bert") != std::string::npos;
  for (Token& token : tokens_) {
    token.strips_right =
        phi3 && token.text != "<unk>" && token.text != "<s>" && token.text != "<|endoftext|>";
    token.strips_left = (modern_bert && token.text == "[MASK]") ||
                        (vocabulary.pre.mask_strips_left && token.text == "<mask>");
  }
}

bool SpecialTokens::IsControl(std::string_view text) const {
  const auto [begin, end] = std::ranges::equal_range(tokens_, text, {}, &Token::text);
  return begin != end && std::all_of(begin, end, [](const Token& token) { return token.control; });
}

// Returns the longest token at `at` with at most `longest` bytes that is allowed there, or null.
// The sorted tokens are narrowed down byte by byte.
const SpecialTokens::Token* SpecialTokens::LongestAt(std::string_view text, size_t at,
                                                     size_t longest, Trusted trusted) const {
  const auto span = std::ranges::upper_bound(trusted, at, {}, &TextSpan::end);
  const size_t trusted_end = span != trusted.end() && span->begin <= at ? span->end : at;
  const size_t limit = std::min(longest, text.size() - at);
  const Token* found = nullptr;
  auto begin = tokens_.begin();
  auto end = tokens_.end();
  for (size_t depth = 0; depth < limit && begin != end; ++depth) {
    const auto byte = static_cast<uint8_t>(text[at + depth]);
    // Tokens that end here are sorted before longer ones.
    begin = std::partition_point(begin, end, [&](const Token& token) {
      return token.text.size() <= depth || static_cast<uint8_t>(token.text[depth]) < byte;
    });
    end = std::partition_point(begin, end, [&](const Token& token) {
      return static_cast<uint8_t>(token.text[depth]) <= byte;
    });
    const bool in_trusted = at + depth + 1 <= trusted_end;
    const Token* here = nullptr;
    for (auto token = begin; token != end && token->text.size() == depth + 1; ++token) {
      here = here == nullptr && (!token->control || in_trusted) ? &*token : here;
    }
    found = here != nullptr ? here : found;
  }
  return found;
}

std::vector<SpecialTokens::Candidate> SpecialTokens::CandidatesIn(std::string_view text,
                                                                  Trusted trusted) const {
  std::vector<Candidate> out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!starts_.at(static_cast<uint8_t>(text[at]))) {
      continue;
    }
    while (!trusted.empty() && trusted.front().end <= at) {
      trusted = trusted.subspan(1);
    }
    if (const Token* token =
            LongestAt(text, at, text.size(), trusted.first(trusted.empty() ? 0 : 1))) {
      out.push_back({token, at});
    }
  }
  return out;
}

// Marks the candidate as taken, together with the white space that it removes.
TextSpan SpecialTokens::Taken(std::string_view text, const Candidate& next,
                              std::vector<bool>* taken) {
  TextSpan span{next.begin, next.begin + next.token->text.size()};
  while (next.token->strips_left && span.begin > 0 && !(*taken)[span.begin - 1] &&
         IsAsciiSpace(text[span.begin - 1])) {
    --span.begin;
  }
  while (next.token->strips_right && span.end < text.size() && !(*taken)[span.end] &&
         IsAsciiSpace(text[span.end])) {
    ++span.end;
  }
  std::fill(taken->begin() + static_cast<std::ptrdiff_t>(span.begin),
            taken->begin() + static_cast<std::ptrdiff_t>(span.end), true);
  return span;
}

// A place offers its next shorter token only if its longest one did not fit.
std::vector<SpecialTokens::Chosen> SpecialTokens::Choose(std::string_view text, Trusted trusted,
                                                         std::vector<Candidate> queue) const {
  const auto later = [](const Candidate& a, const Candidate& b) {
    return std::tie(a.token->order, a.begin) > std::tie(b.token->order, b.begin);
  };
  std::make_heap(queue.begin(), queue.end(), later);
  std::vector<Chosen> out;
  std::vector<bool> taken(text.size(), false);
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), later);
    const Candidate next = queue.back();
    queue.pop_back();
    if (taken[next.begin]) {
      continue;
    }
    // Every token taken before is at least as long, so it overlaps this one at an end or not at
    // all.
    size_t end = next.begin + next.token->text.size();
    if (!taken[end - 1]) {
      out.push_back({next.token, Taken(text, next, &taken)});
      continue;
    }
    while (taken[end - 1]) {
      --end;
    }
    if (const Token* shorter = LongestAt(text, next.begin, end - next.begin, trusted)) {
      queue.push_back({shorter, next.begin});
      std::push_heap(queue.begin(), queue.end(), later);
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Chosen& a, const Chosen& b) { return a.span.begin < b.span.begin; });
  return out;
}

std::vector<TextFragment> SpecialTokens::Partition(std::string_view text,
                                                   std::span<const TextSpan> trusted) const {
  std::vector<TextFragment> out;
  size_t done = 0;
  std::vector<Candidate> candidates = CandidatesIn(text, trusted);
  if (!candidates.empty()) {
    for (const Chosen& special : Choose(text, trusted, std::move(candidates))) {
      if (special.span.begin > done) {
        out.push_back({text.substr(done, special.span.begin - done), std::nullopt});
      }
      out.push_back({special.token->text, special.token->id});
      done = special.span.end;
    }
  }
  if (done < text.size()) {
    out.push_back({text.substr(done), std::nullopt});
  }
  return out;
}

}  // namespace ruvd::inference
