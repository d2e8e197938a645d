// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/hf_sentence_piece.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/import/json.h"
#include "inference/tokenizer/limits.h"
#include "inference/tokenizer/word_table.h"

namespace ruvd::inference {
namespace {

using nlohmann::json;

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  const std::string fault = fmt::format(format, std::forward<Args>(args)...);
  return Error(absl::StatusCode::kDataLoss, reasons::kTokenizerInvalid,
               "tokenizer.json: {}; with byte_fallback, only a tokenizer made from a SentencePiece "
               "model is supported",
               fault);
}

// What happens to spaces before pieces are matched.
struct SpaceRules {
  bool marked = false;  // each space becomes U+2581
  bool prefix = false;  // a space is put before the text
};

absl::Status ReadNormalizerStep(const json& step, SpaceRules* rules) {
  const std::string type = JsonString(step, "type").value_or("");
  const json* pattern = JsonMember(step, "pattern");
  if (type == "Prepend" && JsonString(step, "prepend") == kSpaceMark) {
    rules->prefix = true;
  } else if (type == "Replace" && pattern != nullptr && JsonString(*pattern, "String") == " " &&
             JsonString(step, "content") == kSpaceMark) {
    rules->marked = true;
  } else {
    return Invalid("the normaliser \"{}\" is not known", SanitizeForDisplay(type));
  }
  return absl::OkStatus();
}

absl::Status ReadNormalizer(const json& root, SpaceRules* rules) {
  const json* normalizer = JsonMember(root, "normalizer");
  if (normalizer == nullptr) {
    return absl::OkStatus();
  }
  const json* steps = JsonMember(*normalizer, "normalizers");  // the steps of a sequence
  if (steps == nullptr || !steps->is_array()) {
    return ReadNormalizerStep(*normalizer, rules);
  }
  for (const json& step : *steps) {
    RETURN_IF_ERROR(ReadNormalizerStep(step, rules));
  }
  return absl::OkStatus();
}

absl::Status ReadPreTokenizer(const json& root, SpaceRules* rules) {
  const json* pre = JsonMember(root, "pre_tokenizer");
  if (pre == nullptr) {
    return absl::OkStatus();
  }
  // If the text were cut at its spaces, no piece could merge across them.
  const bool whole = !JsonBool(*pre, "split").value_or(true);
  if (JsonString(*pre, "type") != "Metaspace" || !whole ||
      JsonString(*pre, "replacement").value_or(std::string(kSpaceMark)) != kSpaceMark) {
    return Invalid("the pre-tokeniser is not known");
  }
  rules->marked = true;
  const auto scheme = JsonString(*pre, "prepend_scheme");
  rules->prefix |= scheme ? *scheme != "never" : JsonBool(*pre, "add_prefix_space").value_or(true);
  return absl::OkStatus();
}

bool IsByteToken(std::string_view token) {
  return token.size() == 6 && token.starts_with("<0x") && token.back() == '>' &&
         token.substr(3, 2).find_first_not_of("0123456789ABCDEFabcdef") == std::string_view::npos;
}

void SetTypes(const json& model, HfTokenizer* out) {
  const std::string unknown = JsonString(model, "unk_token").value_or("");
  for (size_t id = 0; id < out->tokens.size(); ++id) {
    std::string& token = out->tokens[id];
    int32_t& type = out->types[id];
    if (token == unknown) {
      type = kHfUnknown;
      out->unknown = id;
    } else if (type == kHfNormal && IsByteToken(token)) {
      type = kHfByte;
      // U+2581 stands for a space here, as in llama.cpp's converter
    } else if (type == kHfUserDefined) {
      for (size_t at = token.find(kSpaceMark); at != std::string::npos;
           at = token.find(kSpaceMark)) {
        token.replace(at, kSpaceMark.size(), " ");
      }
    }
  }
}

// The merges that produce one piece.
struct PieceMerges {
  uint32_t id = 0;
  uint32_t first = std::numeric_limits<uint32_t>::max();  // first and last are ranks
  uint32_t last = 0;
  uint32_t count = 0;
};

class MergesToScores {
 public:
  explicit MergesToScores(const HfTokenizer& tokenizer) : tokenizer_(tokenizer) {
    for (uint32_t id = 0; id < tokenizer.tokens.size(); ++id) {
      if (tokenizer.types[id] == kHfNormal) {
        ids_.Add(tokenizer.tokens[id], id);
      }
    }
    merges_.resize(tokenizer.tokens.size());
  }

  absl::StatusOr<std::vector<float>> Scores() {
    ReadMerges();
    std::vector<PieceMerges> order;
    for (uint32_t id = 0; id < merges_.size(); ++id) {
      merges_[id].id = id;
      const uint32_t cuts = tokenizer_.types[id] == kHfNormal ? Cuts(tokenizer_.tokens[id]) : 0;
      if (merges_[id].count != cuts) {
        return Invalid("token {} (\"{}\") has {} merges and {} cuts into two tokens", id,
                       SanitizeForDisplay(tokenizer_.tokens[id]), merges_[id].count, cuts);
      }
      if (cuts > 0) {
        order.push_back(merges_[id]);
      }
    }
    std::ranges::sort(order, {}, &PieceMerges::first);
    // Tokens that no merge produces come last. Their scores are never compared.
    std::vector<float> scores(merges_.size(), -static_cast<float>(order.size() + 1));
    for (size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && order[i].first < order[i - 1].last) {
        return Invalid("the ranks of the merges of tokens {} and {} overlap", order[i - 1].id,
                       order[i].id);
      }
      scores[order[i].id] = -static_cast<float>(i + 1);
    }
    return scores;
  }

 private:
  void ReadMerges() {
    for (uint32_t rank = 0; rank < tokenizer_.merges.size(); ++rank) {
      const std::string_view line = tokenizer_.merges[rank];
      const size_t space = std::min(line.find(' ', 1), line.size());
      const std::string_view left = line.substr(0, space);
      const std::string_view right = line.substr(std::min(space + 1, line.size()));
      const auto whole = ids_.Find(std::string(left) + std::string(right));
      if (!whole || !ids_.Find(left) || !ids_.Find(right)) {
        continue;  // tokens that are not pieces: nothing merges into them
      }
      PieceMerges& merges = merges_[*whole];
      merges.first = std::min(merges.first, rank);
      merges.last = rank;
      ++merges.count;
    }
  }

  // Returns the number of ways to split a token into two others.
  uint32_t Cuts(std::string_view token) const {
    uint32_t cuts = 0;
    for (size_t at = FirstUtf8Char(token).length; at < token.size();
         at += FirstUtf8Char(token.substr(at)).length) {
      cuts += ids_.Find(token.substr(0, at)) && ids_.Find(token.substr(at)) ? 1 : 0;
    }
    return cuts;
  }

  const HfTokenizer& tokenizer_;
  WordTable ids_;  // the tokens that are pieces
  std::vector<PieceMerges> merges_;
};

}  // namespace

absl::Status ToSentencePieces(const json& root, const json& model, HfTokenizer* out) {
  SpaceRules rules;
  RETURN_IF_ERROR(ReadNormalizer(root, &rules));
  RETURN_IF_ERROR(ReadPreTokenizer(root, &rules));
  if (!rules.marked) {
    return Invalid("spaces are not written as U+2581");
  }
  for (size_t id = 0; id < out->tokens.size(); ++id) {
    if (out->tokens[id].size() > limits::kMaxSentencePieceBytes && out->types[id] == kHfNormal) {
      return Invalid("token {} has {} bytes, more than the limit of {}", id, out->tokens[id].size(),
                     limits::kMaxSentencePieceBytes);
    }
  }
  out->model = "llama";
  out->pre = "default";
  out->add_space_prefix = rules.prefix;
  SetTypes(model, out);
  ASSIGN_OR_RETURN(out->scores, MergesToScores(*out).Scores());
  out->merges.clear();
  return absl::OkStatus();
}

}  // namespace ruvd::inference
