// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/convert/mask_token.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

constexpr std::array<std::string_view, 4> kMaskSpellings = {"<|mask|>", "<mask>", "[MASK]",
                                                            "<|MASK|>"};

template <typename... Args>
absl::Status Refused(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

std::optional<TokenId> ById(const Vocabulary& vocabulary, std::string_view text) {
  TokenId id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && id < vocabulary.pieces.size() ? std::optional(id) : std::nullopt;
}

std::optional<TokenId> ByText(const Vocabulary& vocabulary, std::string_view text) {
  for (TokenId id = 0; id < vocabulary.pieces.size(); ++id) {
    if (vocabulary.pieces[id] == text) {
      return id;
    }
  }
  return std::nullopt;
}

std::optional<TokenId> BySpelling(const Vocabulary& vocabulary) {
  for (const std::string_view spelling : kMaskSpellings) {
    const std::optional<TokenId> id = ByText(vocabulary, spelling);
    if (id && !vocabulary.IsKind(*id, TokenKind::kNormal)) {
      return id;
    }
  }
  return std::nullopt;
}

std::optional<TokenId> LastUnused(const Vocabulary& vocabulary) {
  const auto found =
      std::find(vocabulary.kinds.rbegin(), vocabulary.kinds.rend(), TokenKind::kUnused);
  return found == vocabulary.kinds.rend()
             ? std::nullopt
             : std::optional(static_cast<TokenId>(vocabulary.kinds.rend() - found - 1));
}

bool MeansSomething(const Vocabulary& vocabulary, TokenId id) {
  return std::ranges::any_of(
      std::array{vocabulary.eos, vocabulary.bos, vocabulary.unknown, vocabulary.end_of_turn},
      [&](const std::optional<TokenId>& special) { return special == id; });
}

}  // namespace

absl::StatusOr<TokenId> ChooseMaskToken(const Vocabulary& vocabulary, std::string_view wanted) {
  std::optional<TokenId> id;
  if (!wanted.empty()) {
    id = ByText(vocabulary, wanted);
    id = id ? id : ById(vocabulary, wanted);
    if (!id) {
      return Refused("the model has no token \"{}\"; name one of its {} by text or id",
                     SanitizeForDisplay(wanted), vocabulary.pieces.size());
    }
  } else {
    id = vocabulary.mask ? vocabulary.mask : BySpelling(vocabulary);
    id = id ? id : LastUnused(vocabulary);
    if (!id) {
      return Refused(
          "the model's file names no mask token and marks no token as unused; name a token that no "
          "text has with --mask-token");
    }
  }
  if (MeansSomething(vocabulary, *id)) {
    return Refused(
        "token {} begins or ends texts, so it cannot be the mask; name one that no text has with "
        "--mask-token",
        *id);
  }
  return *id;
}

}  // namespace ruvd::inference
