// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/tokenizer.h"

#include <utility>

#include "base/status.h"
#include "inference/tokenizer/bpe.h"
#include "inference/tokenizer/sentence_piece.h"
#include "inference/tokenizer/special_tokens.h"

namespace ruvd::inference {

struct Tokenizer::Impl {
  Impl(Vocabulary tokens, std::unique_ptr<const TextEncoder> text_encoder)
      : vocabulary(std::move(tokens)), special(vocabulary), encoder(std::move(text_encoder)) {}

  Vocabulary vocabulary;
  SpecialTokens special;
  std::unique_ptr<const TextEncoder> encoder;

  // `at_start`: no other text precedes this one.
  void AppendIds(std::string_view text, std::span<const TextSpan> trusted, bool at_start,
                 std::vector<TokenId>* out) const {
    EncodeWorkspace workspace;
    for (const TextFragment& fragment : special.Partition(text, trusted)) {
      if (fragment.token) {
        out->push_back(*fragment.token);
      } else {
        encoder->Append(fragment.text, at_start, &workspace, out);
      }
      at_start = fragment.token.has_value();
    }
  }

  void AppendSegments(std::span<const TextSegment> segments, std::vector<TokenId>* out) const {
    std::string text;
    std::vector<TextSpan> trusted;  // neighbouring spans are joined
    for (const TextSegment& segment : segments) {
      const size_t begin = text.size();
      text += segment.text;
      if (!segment.trusted) {
        continue;
      }
      if (!trusted.empty() && trusted.back().end == begin) {
        trusted.back().end = text.size();
      } else {
        trusted.push_back({begin, text.size()});
      }
    }
    AppendIds(text, trusted, /*at_start=*/true, out);
  }
};

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromGguf(const GgufReader& gguf) {
  ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(gguf));
  std::unique_ptr<const TextEncoder> encoder;
  if (vocabulary.model == TokenizerModel::kBytePair) {
    ASSIGN_OR_RETURN(encoder, BytePairEncoder::Create(&vocabulary));
  } else {
    ASSIGN_OR_RETURN(encoder, SentencePieceEncoder::Create(&vocabulary));
  }
  return std::unique_ptr<Tokenizer>(
      new Tokenizer(std::make_unique<const Impl>(std::move(vocabulary), std::move(encoder))));
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text, bool parse_special) const {
  std::vector<TokenId> out;
  const TextSpan all{0, text.size()};
  impl_->AppendIds(text, std::span(&all, parse_special ? 1 : 0), /*at_start=*/true, &out);
  return out;
}

std::vector<TokenId> Tokenizer::EncodePrompt(std::string_view text) const {
  const TextSegment all{.text = std::string(text)};
  return EncodePrompt(std::span(&all, 1));
}

std::vector<TokenId> Tokenizer::EncodePrompt(std::span<const TextSegment> segments) const {
  std::vector<TokenId> out;
  if (impl_->vocabulary.add_bos && impl_->vocabulary.bos) {
    out.push_back(*impl_->vocabulary.bos);
  }
  impl_->AppendSegments(segments, &out);
  return out;
}

std::vector<TokenId> Tokenizer::EncodeContinuation(std::string_view text) const {
  std::vector<TokenId> out;
  impl_->AppendIds(text, {}, /*at_start=*/false, &out);
  return out;
}

std::vector<TokenId> Tokenizer::EncodeSegments(std::span<const TextSegment> segments,
                                               bool add_special) const {
  if (!add_special) {
    std::vector<TokenId> out;
    impl_->AppendSegments(segments, &out);
    return out;
  }
  const Vocabulary& vocabulary = impl_->vocabulary;
  std::vector<TokenId> out = EncodePrompt(segments);
  if (vocabulary.add_eos && vocabulary.eos) {
    out.push_back(*vocabulary.eos);
  }
  return out;
}

std::string Tokenizer::Decode(std::span<const TokenId> tokens) const {
  std::string out;
  bool at_start = true;
  for (const TokenId token : tokens) {
    AppendText(token, &at_start, &out);
  }
  return out;
}

void Tokenizer::AppendText(TokenId token, bool* at_start, std::string* out) const {
  if (IsSpecial(token)) {
    return;
  }
  std::string_view piece = Piece(token);
  if (piece.empty()) {
    return;
  }
  const Vocabulary& vocabulary = impl_->vocabulary;
  if (vocabulary.IsKind(token, TokenKind::kUserDefined)) {
    *out += piece;
    *at_start = true;
    return;
  }
  if (*at_start && vocabulary.add_space_prefix && piece.starts_with(' ')) {
    piece.remove_prefix(1);
  }
  *at_start = false;
  *out += piece;
}

std::string_view Tokenizer::Piece(TokenId token) const {
  return token < size() ? impl_->vocabulary.pieces[token] : std::string_view();
}

bool Tokenizer::IsSpecial(TokenId token) const {
  const Vocabulary& vocabulary = impl_->vocabulary;
  return token < size() && (vocabulary.IsKind(token, TokenKind::kControl) ||
                            vocabulary.IsKind(token, TokenKind::kUnknown) ||
                            vocabulary.IsKind(token, TokenKind::kUnused));
}

bool Tokenizer::IsControlText(std::string_view text) const {
  return impl_->special.IsControl(text);
}
std::optional<TokenId> Tokenizer::mask_id() const {
  return impl_->vocabulary.mask;
}
std::optional<TokenId> Tokenizer::eos_id() const {
  return impl_->vocabulary.eos;
}
std::optional<TokenId> Tokenizer::bos_id() const {
  return impl_->vocabulary.bos;
}
std::optional<TokenId> Tokenizer::pad_id() const {
  return impl_->vocabulary.pad;
}
std::optional<TokenId> Tokenizer::end_of_turn_id() const {
  return impl_->vocabulary.end_of_turn;
}
size_t Tokenizer::size() const {
  return impl_->vocabulary.pieces.size();
}
const std::string& Tokenizer::chat_template() const {
  return impl_->vocabulary.chat_template;
}
const std::vector<std::string>& Tokenizer::warnings() const {
  return impl_->vocabulary.warnings;
}

}  // namespace ruvd::inference
