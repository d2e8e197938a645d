// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/special_tokens.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ruvd {
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
  ReadStripRules(vocabulary);
}

// GGUF has no key for these attributes; llama.cpp knows them by the model's name.
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
  std::vector<const Token*> found;
  FindAt(text, 0, &found);
  std::erase_if(found, [&](const Token* token) { return token->text != text; });
  return !found.empty() &&
         std::all_of(found.begin(), found.end(), [](const Token* token) { return token->control; });
}

// All tokens that stand at `at`: the sorted tokens are narrowed down byte by byte.
void SpecialTokens::FindAt(std::string_view text, size_t at,
                           std::vector<const Token*>* found) const {
  found->clear();
  auto begin = tokens_.begin();
  auto end = tokens_.end();
  for (size_t depth = 0; at + depth < text.size() && begin != end; ++depth) {
    const auto byte = static_cast<uint8_t>(text[at + depth]);
    // Tokens that end here sort before those that go on.
    begin = std::partition_point(begin, end, [&](const Token& token) {
      return token.text.size() <= depth || static_cast<uint8_t>(token.text[depth]) < byte;
    });
    end = std::partition_point(begin, end, [&](const Token& token) {
      return static_cast<uint8_t>(token.text[depth]) <= byte;
    });
    for (auto token = begin; token != end && token->text.size() == depth + 1; ++token) {
      found->push_back(&*token);
    }
  }
}

std::vector<SpecialTokens::Occurrence> SpecialTokens::FindAll(
    std::string_view text, std::span<const TextSpan> trusted) const {
  std::vector<Occurrence> out;
  std::vector<const Token*> here;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!starts_.at(static_cast<uint8_t>(text[at]))) {
      continue;
    }
    while (!trusted.empty() && trusted.front().end <= at) {
      trusted = trusted.subspan(1);
    }
    FindAt(text, at, &here);
    for (const Token* token : here) {
      const size_t end = at + token->text.size();
      const bool in_trusted =
          !trusted.empty() && trusted.front().begin <= at && end <= trusted.front().end;
      if (!token->control || in_trusted) {
        out.push_back({token, {at, end}});
      }
    }
  }
  return out;
}

std::vector<SpecialTokens::Occurrence> SpecialTokens::Choose(std::string_view text,
                                                             std::vector<Occurrence> all) {
  std::sort(all.begin(), all.end(), [](const Occurrence& a, const Occurrence& b) {
    return std::tie(a.token->order, a.span.begin) < std::tie(b.token->order, b.span.begin);
  });
  std::vector<Occurrence> out;
  std::vector<bool> taken(text.size(), false);
  for (Occurrence& next : all) {
    // What was taken before is at least as long, so it overlaps at one of the ends or not at all.
    TextSpan& span = next.span;
    if (taken[span.begin] || taken[span.end - 1]) {
      continue;
    }
    while (next.token->strips_left && span.begin > 0 && !taken[span.begin - 1] &&
           IsAsciiSpace(text[span.begin - 1])) {
      --span.begin;
    }
    while (next.token->strips_right && span.end < text.size() && !taken[span.end] &&
           IsAsciiSpace(text[span.end])) {
      ++span.end;
    }
    std::fill(taken.begin() + static_cast<std::ptrdiff_t>(span.begin),
              taken.begin() + static_cast<std::ptrdiff_t>(span.end), true);
    out.push_back(next);
  }
  std::sort(out.begin(), out.end(),
            [](const Occurrence& a, const Occurrence& b) { return a.span.begin < b.span.begin; });
  return out;
}

std::vector<TextFragment> SpecialTokens::Partition(std::string_view text,
                                                   std::span<const TextSpan> trusted) const {
  std::vector<TextFragment> out;
  size_t done = 0;
  std::vector<Occurrence> all = FindAll(text, trusted);
  if (!all.empty()) {
    for (const Occurrence& special : Choose(text, std::move(all))) {
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

}  // namespace ruvd
