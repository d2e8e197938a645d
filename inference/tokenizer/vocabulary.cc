// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/vocabulary.h"

#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/tokenizer/limits.h"

namespace ruvd::inference {
namespace {

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kDataLoss, reasons::kTokenizerInvalid, format,
               std::forward<Args>(args)...);
}

absl::Status ReadModel(const GgufReader& gguf, Vocabulary* out) {
  ASSIGN_OR_RETURN(const std::string model, gguf.GetString("tokenizer.ggml.model"));
  if (model == "gpt2") {
    out->model = TokenizerModel::kBytePair;
  } else if (model == "llama") {
    out->model = TokenizerModel::kSentencePiece;
  } else {
    return Invalid(
        "tokenizer model \"{}\" is not supported; use a model with byte-level BPE (\"gpt2\") or "
        "SentencePiece BPE (\"llama\")",
        SanitizeForDisplay(model));
  }
  return absl::OkStatus();
}

absl::Status ReadPreTokenizer(const GgufReader& gguf, Vocabulary* out) {
  constexpr char kKey[] = "tokenizer.ggml.pre";
  std::string name = "default";
  if (gguf.Has(kKey)) {
    ASSIGN_OR_RETURN(name, gguf.GetString(kKey));
  } else {
    out->warnings.push_back(
        fmt::format("the file names no pre-tokeniser ({}); words are split by the default rules, "
                    "which may not be the model's own: convert the model again",
                    kKey));
  }
  const auto known = PreTokenizerByName(name);
  if (!known) {
    return Invalid(
        "pre-tokeniser \"{}\" (key {}) is not known; guessing would give wrong tokens: use a model "
        "with gpt-2, qwen2, llama-bpe, starcoder, deepseek-llm or one of their relatives",
        SanitizeForDisplay(name), kKey);
  }
  out->pre = *known;
  return absl::OkStatus();
}

// Returns the array's length, which must not exceed `limit`.
absl::StatusOr<uint64_t> LimitedLength(const GgufReader& gguf, std::string_view key,
                                       uint64_t limit) {
  ASSIGN_OR_RETURN(const uint64_t length, gguf.GetArrayLength(key));
  if (length > limit) {
    return Invalid("{} has {} entries, more than the limit of {}", key, length, limit);
  }
  return length;
}

absl::Status ReadPieces(const GgufReader& gguf, Vocabulary* out) {
  constexpr char kKey[] = "tokenizer.ggml.tokens";
  RETURN_IF_ERROR(LimitedLength(gguf, kKey, limits::kMaxVocabularyTokens).status());
  ASSIGN_OR_RETURN(const std::vector<std::string_view> pieces, gguf.GetStringViews(kKey));
  if (pieces.empty()) {
    return Invalid("tokenizer has no tokens; convert the model again");
  }
  uint64_t bytes = 0;
  for (size_t id = 0; id < pieces.size(); ++id) {
    bytes += pieces[id].size();
    if (pieces[id].size() > limits::kMaxTokenBytes || bytes > limits::kMaxVocabularyBytes) {
      return Invalid("token {} has {} bytes, {} with those before it; the limits are {} and {}", id,
                     pieces[id].size(), bytes, limits::kMaxTokenBytes, limits::kMaxVocabularyBytes);
    }
  }
  for (const std::string_view piece : pieces) {
    out->pieces.Add(piece);
  }
  return absl::OkStatus();
}

absl::Status ReadKinds(const GgufReader& gguf, Vocabulary* out) {
  constexpr char kKey[] = "tokenizer.ggml.token_type";
  const size_t count = out->pieces.size();
  if (!gguf.Has(kKey)) {
    out->kinds.assign(count, TokenKind::kNormal);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const uint64_t length, LimitedLength(gguf, kKey, limits::kMaxVocabularyTokens));
  if (length != count) {
    return Invalid("tokenizer has {} tokens but {} token types; convert the model again", count,
                   length);
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, gguf.GetIntArray(kKey));
  out->kinds.reserve(count);
  for (const int64_t number : numbers) {
    if (number < 0 || number > static_cast<int64_t>(TokenKind::kByte)) {
      return Invalid("token type {} is not known; convert the model again", number);
    }
    out->kinds.push_back(static_cast<TokenKind>(number));
  }
  return absl::OkStatus();
}

absl::Status CheckSpecialTokens(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.pieces.size(); ++id) {
    const TokenKind kind = vocabulary.kinds[id];
    const bool special = kind == TokenKind::kControl || kind == TokenKind::kUnknown ||
                         kind == TokenKind::kUserDefined;
    if (special && vocabulary.pieces[id].size() > limits::kMaxSpecialTokenBytes) {
      return Invalid(
          "the special token {} has {} bytes, more than the limit of {}; convert the "
          "model again",
          id, vocabulary.pieces[id].size(), limits::kMaxSpecialTokenBytes);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadMerges(const GgufReader& gguf, Vocabulary* out) {
  constexpr char kKey[] = "tokenizer.ggml.merges";
  RETURN_IF_ERROR(LimitedLength(gguf, kKey, limits::kMaxVocabularyMerges).status());
  ASSIGN_OR_RETURN(out->merges, gguf.GetStringViews(kKey));
  uint64_t bytes = 0;
  for (size_t rank = 0; rank < out->merges.size(); ++rank) {
    const uint64_t length = out->merges[rank].size();
    bytes += length;
    // A merge makes one token of two, and a space separates the two.
    if (length > limits::kMaxTokenBytes + 1 || bytes > limits::kMaxVocabularyBytes) {
      return Invalid("merge {} has {} bytes, {} with those before it; the limits are {} and {}",
                     rank, length, bytes, limits::kMaxTokenBytes + 1, limits::kMaxVocabularyBytes);
    }
  }
  return absl::OkStatus();
}

absl::Status ReadScores(const GgufReader& gguf, Vocabulary* out) {
  constexpr char kKey[] = "tokenizer.ggml.scores";
  ASSIGN_OR_RETURN(const uint64_t length, LimitedLength(gguf, kKey, limits::kMaxVocabularyTokens));
  if (length != out->pieces.size()) {
    return Invalid("tokenizer has {} tokens but {} scores; convert the model again",
                   out->pieces.size(), length);
  }
  ASSIGN_OR_RETURN(out->scores, gguf.GetFloatArray(kKey));
  for (size_t id = 0; id < out->scores.size(); ++id) {
    if (!std::isfinite(out->scores[id])) {
      return Invalid("the score of token {} is not a finite number; convert the model again", id);
    }
  }
  return absl::OkStatus();
}

// Reads the id that a key names, or `standard` if the key is missing.
absl::Status ReadId(const GgufReader& gguf, std::string_view name, std::optional<TokenId> standard,
                    const Vocabulary& vocabulary, std::optional<TokenId>* out) {
  const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
  const size_t count = vocabulary.pieces.size();
  if (!gguf.Has(key)) {
    *out = standard;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const uint64_t id, gguf.GetUnsigned(key));
  if (id >= count) {
    return Invalid("{} is {}, outside the vocabulary of {} tokens; convert the model again", key,
                   id, count);
  }
  *out = static_cast<TokenId>(id);
  return absl::OkStatus();
}

// A model may end its text with either of two tokens, and files often name only one of them.
std::optional<TokenId> FindEndOfTurn(const Vocabulary& vocabulary) {
  for (const std::string_view spelling : {"<|im_end|>", "<|eot_id|>", "<|end|>"}) {
    for (TokenId id = 0; id < vocabulary.pieces.size(); ++id) {
      if (vocabulary.IsKind(id, TokenKind::kControl) && vocabulary.pieces[id] == spelling) {
        return id;
      }
    }
  }
  return std::nullopt;
}

absl::Status ReadIds(const GgufReader& gguf, Vocabulary* out) {
  // These are the default ids of SentencePiece.
  const bool pieces = out->model == TokenizerModel::kSentencePiece;
  const auto standard = [&](TokenId id, TokenKind kind) {
    const bool fits = pieces && id < out->pieces.size() && out->IsKind(id, kind);
    return fits ? std::optional(id) : std::nullopt;
  };
  // Text that fits nothing else becomes the unknown token, so a control token must not serve as the
  // unknown token unless the file says so.
  RETURN_IF_ERROR(ReadId(gguf, "unknown", standard(0, TokenKind::kUnknown), *out, &out->unknown));
  RETURN_IF_ERROR(ReadId(gguf, "bos", standard(1, TokenKind::kControl), *out, &out->bos));
  RETURN_IF_ERROR(ReadId(gguf, "eos", standard(2, TokenKind::kControl), *out, &out->eos));
  RETURN_IF_ERROR(ReadId(gguf, "mask", std::nullopt, *out, &out->mask));
  RETURN_IF_ERROR(ReadId(gguf, "padding", std::nullopt, *out, &out->pad));
  return ReadId(gguf, "eot", FindEndOfTurn(*out), *out, &out->end_of_turn);
}

absl::Status ReadFlag(const GgufReader& gguf, std::string_view key, bool standard, bool* out) {
  *out = standard;
  if (gguf.Has(key)) {
    ASSIGN_OR_RETURN(*out, gguf.GetBool(key));
  }
  return absl::OkStatus();
}

absl::Status ReadFlags(const GgufReader& gguf, Vocabulary* out) {
  const bool pieces = out->model == TokenizerModel::kSentencePiece;
  RETURN_IF_ERROR(
      ReadFlag(gguf, "tokenizer.ggml.add_bos_token", pieces || out->pre.add_bos, &out->add_bos));
  RETURN_IF_ERROR(ReadFlag(gguf, "tokenizer.ggml.add_eos_token", false, &out->add_eos));
  if (pieces) {
    RETURN_IF_ERROR(
        ReadFlag(gguf, "tokenizer.ggml.add_space_prefix", true, &out->add_space_prefix));
    RETURN_IF_ERROR(ReadFlag(gguf, "tokenizer.ggml.remove_extra_whitespaces", false,
                             &out->remove_extra_spaces));
  }
  return absl::OkStatus();
}

absl::Status ReadTexts(const GgufReader& gguf, Vocabulary* out) {
  if (gguf.Has("general.name")) {
    ASSIGN_OR_RETURN(out->model_name, gguf.GetString("general.name"));
  }
  constexpr char kTemplate[] = "tokenizer.chat_template";
  if (gguf.Has(kTemplate)) {
    ASSIGN_OR_RETURN(out->chat_template, gguf.GetString(kTemplate));
    if (out->chat_template.size() > limits::kMaxChatTemplateBytes) {
      return Invalid("{} has {} bytes, more than the limit of {}", kTemplate,
                     out->chat_template.size(), limits::kMaxChatTemplateBytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace

void RepeatedTokens::Note(TokenId former, TokenId used) {
  if (count_++ == 0) {
    former_ = former;
    used_ = used;
  }
}

void RepeatedTokens::Warn(Vocabulary* vocabulary) const {
  if (count_ > 0) {
    vocabulary->warnings.push_back(fmt::format(
        "{} tokens have the text of a later token, such as {}, which is spelled like {}; text is "
        "encoded as the later one: compare the file with the model's own tokenizer",
        count_, former_, used_));
  }
}

absl::StatusOr<Vocabulary> ReadVocabulary(const GgufReader& gguf) {
  Vocabulary out;
  RETURN_IF_ERROR(ReadModel(gguf, &out));
  if (out.model == TokenizerModel::kBytePair) {
    RETURN_IF_ERROR(ReadPreTokenizer(gguf, &out));
    RETURN_IF_ERROR(ReadMerges(gguf, &out));
  }
  RETURN_IF_ERROR(ReadPieces(gguf, &out));
  RETURN_IF_ERROR(ReadKinds(gguf, &out));
  RETURN_IF_ERROR(CheckSpecialTokens(out));
  if (out.model == TokenizerModel::kSentencePiece) {
    RETURN_IF_ERROR(ReadScores(gguf, &out));
  }
  RETURN_IF_ERROR(ReadIds(gguf, &out));
  RETURN_IF_ERROR(ReadFlags(gguf, &out));
  RETURN_IF_ERROR(ReadTexts(gguf, &out));
  return out;
}

}  // namespace ruvd::inference
