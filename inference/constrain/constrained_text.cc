// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/constrained_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/constrain/limits.h"
#include "inference/reasons.h"
#include "inference/sampler/distribution.h"

namespace ruvd::inference {
namespace {

constexpr size_t kBits = 64;

absl::Status TooManyReadings() {
  return Error(
      absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
      "the schema, expression or grammar can be read in too many ways at once, or its "
      "rules are nested more than {} deep in what was written; use fewer alternatives that "
      "begin alike, and bound what is nested",
      limits::kMaxOpenRules);
}

}  // namespace

ConstrainedText::ConstrainedText(std::shared_ptr<const TextConstraint> constraint,
                                 std::vector<TokenId> end_tokens)
    : constraint_(std::move(constraint)),
      end_tokens_(std::move(end_tokens)),
      automaton_(constraint_->grammar),
      state_(automaton_.start()) {}

absl::StatusOr<const ConstrainedText::Bits*> ConstrainedText::Allowed() {
  const auto known = masks_.find(state_);
  if (known != masks_.end()) {
    return &known->second;
  }
  if (masks_.size() >= limits::kMaxRememberedMasks ||
      automaton_.bytes() > limits::kMaxRememberedBytes) {
    masks_.clear();
    state_ = automaton_.Forget(state_);
  }
  const TokenTrie& tokens = *constraint_->tokens;
  Bits bits((tokens.vocabulary() + kBits - 1) / kBits);
  std::array<Automaton::State, TokenTrie::kMaxDepth + 1> path{state_};
  const uint64_t most_work =
      std::min(automaton_.work() + limits::kMaxMaskWork, limits::kMaxConstraintWork);
  for (size_t i = 0; i < tokens.nodes().size();) {
    if (automaton_.work() > most_work || automaton_.bytes() > limits::kMaxMaskBytes) {
      return TooManyReadings();
    }
    const TokenTrie::Node& node = tokens.nodes()[i];
    const Automaton::State next = automaton_.Next(path[node.depth - size_t{1}], node.byte);
    if (next == Automaton::kDead) {
      i = node.end;
      continue;
    }
    path[node.depth] = next;
    for (uint32_t t = node.first_token; t < node.last_token; ++t) {
      const TokenId token = tokens.tokens()[t];
      bits[token / kBits] |= uint64_t{1} << (token % kBits);
    }
    ++i;
  }
  return &masks_.emplace(state_, std::move(bits)).first->second;
}

absl::Status ConstrainedText::Mask(std::span<float> logits) {
  ASSIGN_OR_RETURN(const Bits* const bits_of, Allowed());
  const Bits& allowed = *bits_of;
  const bool can_end = automaton_.CanEnd(state_);
  std::vector<std::pair<TokenId, float>> ends;
  for (const TokenId token : end_tokens_) {
    ends.emplace_back(token, logits[token]);
  }
  bool any = can_end && !end_tokens_.empty();
  for (size_t word = 0; word * kBits < logits.size(); ++word) {
    const uint64_t bits = word < allowed.size() ? allowed[word] : 0;
    any = any || bits != 0;
    const size_t begin = word * kBits;
    const size_t end = std::min(begin + kBits, logits.size());
    for (size_t token = begin; token < end; ++token) {
      if (((bits >> (token - begin)) & 1) == 0) {
        logits[token] = kForbidden;
      }
    }
  }
  for (const auto& [token, logit] : ends) {
    logits[token] = can_end ? logit : kForbidden;
  }
  if (!any && automaton_.is_cut()) {
    return TooManyReadings();
  }
  return any ? absl::OkStatus()
             : Error(absl::StatusCode::kFailedPrecondition, reasons::kConstraintUnmet,
                     "the model has no token for what must follow here, so it cannot write what "
                     "the request asks for; loosen the schema, expression or grammar");
}

void ConstrainedText::Add(TokenId token) {
  for (const char byte : constraint_->tokens->TextOf(token)) {
    state_ = automaton_.Next(state_, static_cast<uint8_t>(byte));
  }
}

}  // namespace ruvd::inference
