// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "base/string_map.h"
#include "inference/tokenizer/bpe.h"
#include "inference/tokenizer/byte_alphabet.h"
#include "inference/tokenizer/pre_tokenizer.h"

namespace ruvd {
namespace {

// tokenizer.ggml.token_type
enum class TokenKind : uint8_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kDataLoss, reasons::kTokenizerInvalid, format,
               std::forward<Args>(args)...);
}

// A part of the text: either plain text or one special token.
struct Fragment {
  std::string_view text;
  std::optional<TokenId> token;
};

absl::Status CheckModelName(const GgufReader& gguf) {
  ASSIGN_OR_RETURN(const std::string model, gguf.GetString("tokenizer.ggml.model"));
  if (model != "gpt2") {
    return Invalid(
        "tokenizer model \"{}\" is not supported; use a model with byte-level BPE "
        "(\"gpt2\")",
        model.substr(0, 64));
  }
  return absl::OkStatus();
}

absl::StatusOr<PreTokenizer> ReadPreTokenizer(const GgufReader& gguf) {
  constexpr char kKey[] = "tokenizer.ggml.pre";
  std::string name;
  if (gguf.Has(kKey)) {
    ASSIGN_OR_RETURN(name, gguf.GetString(kKey));
  }
  const auto known = PreTokenizerByName(name);
  if (!known) {
    return Invalid(
        "pre-tokeniser \"{}\" (key {}) is not known; supported are qwen2, gpt-2 and llama-bpe",
        name.substr(0, 64), kKey);
  }
  return *known;
}

absl::StatusOr<std::vector<TokenKind>> ReadKinds(const GgufReader& gguf, size_t count) {
  constexpr char kKey[] = "tokenizer.ggml.token_type";
  if (!gguf.Has(kKey)) {
    return std::vector<TokenKind>(count, TokenKind::kNormal);
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, gguf.GetIntArray(kKey));
  if (numbers.size() != count) {
    return Invalid("tokenizer has {} tokens but {} token types; convert the model again", count,
                   numbers.size());
  }
  std::vector<TokenKind> kinds;
  kinds.reserve(count);
  for (const int64_t number : numbers) {
    if (number < 0 || number > static_cast<int64_t>(TokenKind::kByte)) {
      return Invalid("token type {} is not known; convert the model again", number);
    }
    kinds.push_back(static_cast<TokenKind>(number));
  }
  return kinds;
}

absl::StatusOr<std::optional<TokenId>> ReadId(const GgufReader& gguf, std::string_view name,
                                              size_t count) {
  const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
  if (!gguf.Has(key)) {
    return std::optional<TokenId>();
  }
  ASSIGN_OR_RETURN(const uint64_t id, gguf.GetUnsigned(key));
  if (id >= count) {
    return Invalid("{} is {}, outside the vocabulary of {} tokens; convert the model again", key,
                   id, count);
  }
  return std::optional<TokenId>(static_cast<TokenId>(id));
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(BytePairMerges byte_pairs) : merges(std::move(byte_pairs)) {}

  PreTokenizer pre_tokenizer = PreTokenizer::kQwen2;
  BytePairMerges merges;
  StringMap<uint32_t> ids;          // normal tokens by their bytes
  std::vector<std::string> pieces;  // raw bytes
  std::vector<TokenKind> kinds;
  std::vector<TokenId> special;  // tokens recognised in text, longest first
  std::optional<TokenId> mask, eos, bos, pad;

  bool StandsForNoText(TokenId token) const {
    return token < kinds.size() &&
           (kinds[token] == TokenKind::kControl || kinds[token] == TokenKind::kUnknown ||
            kinds[token] == TokenKind::kUnused);
  }

  absl::Status ReadIds(const GgufReader& gguf) {
    ASSIGN_OR_RETURN(mask, ReadId(gguf, "mask", pieces.size()));
    ASSIGN_OR_RETURN(eos, ReadId(gguf, "eos", pieces.size()));
    ASSIGN_OR_RETURN(bos, ReadId(gguf, "bos", pieces.size()));
    ASSIGN_OR_RETURN(pad, ReadId(gguf, "padding", pieces.size()));
    return absl::OkStatus();
  }

  void EncodeWord(std::string_view word, std::vector<TokenId>* out) const {
    // Llama 3's merges do not reach every token: a word that is one is taken whole.
    if (pre_tokenizer == PreTokenizer::kLlama3) {
      if (const auto whole = ids.find(word); whole != ids.end()) {
        out->push_back(whole->second);
        return;
      }
    }
    merges.Encode(word, out);
  }

  void CollectSpecial() {
    for (TokenId id = 0; id < kinds.size(); ++id) {
      const bool found_in_text = kinds[id] == TokenKind::kControl ||
                                 kinds[id] == TokenKind::kUnknown ||
                                 kinds[id] == TokenKind::kUserDefined;
      if (found_in_text && !pieces[id].empty()) {
        special.push_back(id);
      }
    }
    std::stable_sort(special.begin(), special.end(),
                     [this](TokenId a, TokenId b) { return pieces[a].size() > pieces[b].size(); });
  }

  // Cuts every plain fragment at the occurrences of one special token.
  std::vector<Fragment> CutAt(TokenId token, const std::vector<Fragment>& fragments) const {
    const std::string& piece = pieces[token];
    std::vector<Fragment> out;
    for (const Fragment& fragment : fragments) {
      std::string_view rest = fragment.text;
      if (!fragment.token) {
        for (size_t at = rest.find(piece); at != std::string_view::npos; at = rest.find(piece)) {
          if (at > 0) {
            out.push_back({rest.substr(0, at), std::nullopt});
          }
          out.push_back({rest.substr(at, piece.size()), token});
          rest.remove_prefix(at + piece.size());
        }
      }
      if (fragment.token || !rest.empty()) {
        out.push_back({rest, fragment.token});
      }
    }
    return out;
  }

  std::vector<Fragment> Partition(std::string_view text, bool parse_special) const {
    std::vector<Fragment> fragments;
    fragments.push_back({text, std::nullopt});
    for (const TokenId token : special) {
      const bool wanted = parse_special || kinds[token] == TokenKind::kUserDefined;
      if (wanted && text.find(pieces[token]) != std::string_view::npos) {
        fragments = CutAt(token, fragments);
      }
    }
    return fragments;
  }
};

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromGguf(const GgufReader& gguf) {
  RETURN_IF_ERROR(CheckModelName(gguf));
  ASSIGN_OR_RETURN(const PreTokenizer pre_tokenizer, ReadPreTokenizer(gguf));
  ASSIGN_OR_RETURN(std::vector<std::string> pieces, gguf.GetStringArray("tokenizer.ggml.tokens"));
  ASSIGN_OR_RETURN(const std::vector<std::string> merges,
                   gguf.GetStringArray("tokenizer.ggml.merges"));
  ASSIGN_OR_RETURN(std::vector<TokenKind> kinds, ReadKinds(gguf, pieces.size()));
  if (pieces.empty()) {
    return Invalid("tokenizer has no tokens; convert the model again");
  }
  StringMap<uint32_t> ids;
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (kinds[id] != TokenKind::kNormal) {
      continue;  // found as whole words only, or never
    }
    // A spelling outside the alphabet cannot come from bytes; it stays as it is written.
    if (auto bytes = BytesOfSpelling(pieces[id]); bytes) {
      pieces[id] = *std::move(bytes);
    }
    if (!ids.emplace(pieces[id], static_cast<uint32_t>(id)).second) {
      return Invalid("tokens {} and {} are spelled alike; convert the model again",
                     ids.find(pieces[id])->second, id);
    }
  }
  ASSIGN_OR_RETURN(BytePairMerges byte_pairs, BytePairMerges::Create(ids, merges));
  auto impl = std::make_unique<Impl>(std::move(byte_pairs));
  impl->pre_tokenizer = pre_tokenizer;
  impl->ids = std::move(ids);
  impl->pieces = std::move(pieces);
  impl->kinds = std::move(kinds);
  RETURN_IF_ERROR(impl->ReadIds(gguf));
  impl->CollectSpecial();
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text, bool parse_special) const {
  std::vector<TokenId> out;
  for (const Fragment& fragment : impl_->Partition(text, parse_special)) {
    if (fragment.token) {
      out.push_back(*fragment.token);
      continue;
    }
    for (const std::string_view word : SplitWords(impl_->pre_tokenizer, fragment.text)) {
      impl_->EncodeWord(word, &out);
    }
  }
  return out;
}

std::string Tokenizer::Decode(std::span<const TokenId> tokens) const {
  std::string out;
  for (const TokenId token : tokens) {
    if (!impl_->StandsForNoText(token)) {
      out += Piece(token);
    }
  }
  return out;
}

std::string_view Tokenizer::Piece(TokenId token) const {
  return token < impl_->pieces.size() ? std::string_view(impl_->pieces[token]) : std::string_view();
}

bool Tokenizer::IsSpecial(TokenId token) const {
  return impl_->StandsForNoText(token);
}
std::optional<TokenId> Tokenizer::mask_id() const {
  return impl_->mask;
}
std::optional<TokenId> Tokenizer::eos_id() const {
  return impl_->eos;
}
std::optional<TokenId> Tokenizer::bos_id() const {
  return impl_->bos;
}
std::optional<TokenId> Tokenizer::pad_id() const {
  return impl_->pad;
}
size_t Tokenizer::size() const {
  return impl_->pieces.size();
}

}  // namespace ruvd
