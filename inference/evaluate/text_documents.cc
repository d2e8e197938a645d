// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/evaluate/text_documents.h"

#include <zstd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/evaluate/limits.h"

namespace ruvd::inference {
namespace {

absl::Status TooLarge(uint64_t most_bytes) {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
               "the text is larger than {} bytes; split it", most_bytes);
}

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Decompresses piece by piece, because the sizes in the file's header are not trusted.
absl::StatusOr<std::string> Decompress(std::string_view bytes, uint64_t most_bytes) {
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  RUVD_CHECK(context != nullptr);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, limits::kMaxZstdWindowLog);
  std::string out;
  std::string piece(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t expected = 1;
  while (in.pos < in.size || expected != 0) {
    ZSTD_outBuffer part{piece.data(), piece.size(), 0};
    const size_t before = in.pos;
    expected = ZSTD_decompressStream(context.get(), &part, &in);
    if (ZSTD_isError(expected) != 0) {
      return Error(absl::StatusCode::kDataLoss, reasons::kFileUnreadable,
                   "not valid Zstandard data: {}", ZSTD_getErrorName(expected));
    }
    if (part.pos == 0 && in.pos == before && in.pos == in.size) {
      return Error(absl::StatusCode::kDataLoss, reasons::kFileUnreadable,
                   "the Zstandard data is cut off");
    }
    if (out.size() + part.pos > most_bytes) {
      return TooLarge(most_bytes);
    }
    out.append(piece.data(), part.pos);
  }
  return out;
}

std::optional<std::string> TextOfLine(std::string_view line) {
  // Without exceptions, a syntax error gives a discarded value.
  const nlohmann::json value =
      nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) {
    return std::nullopt;
  }
  const auto text = value.find("text");
  if (text == value.end() || !text->is_string()) {
    return std::nullopt;
  }
  return text->get<std::string>();
}

absl::StatusOr<std::vector<std::string>> ParseJsonLines(std::string_view bytes) {
  std::vector<std::string> documents;
  size_t number = 1;
  for (size_t begin = 0; begin < bytes.size(); ++number) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    const std::string_view line = bytes.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    std::optional<std::string> text = TextOfLine(line);
    if (!text) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kFileUnreadable,
                   "line {} is not a JSON object with a string \"text\"", number);
    }
    documents.push_back(*std::move(text));
  }
  return documents;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseTextDocuments(std::string_view bytes,
                                                            std::string_view name) {
  return ParseTextDocuments(bytes, name, limits::kMaxTextBytes);
}

absl::StatusOr<std::vector<std::string>> ParseTextDocuments(std::string_view bytes,
                                                            std::string_view name,
                                                            uint64_t most_bytes) {
  std::string unpacked;
  if (name.ends_with(".zst")) {
    ASSIGN_OR_RETURN(unpacked, Decompress(bytes, most_bytes));
    bytes = unpacked;
    name.remove_suffix(4);
  }
  if (name.ends_with(".jsonl")) {
    return ParseJsonLines(bytes);
  }
  return std::vector<std::string>{std::string(bytes)};
}

absl::StatusOr<std::vector<std::string>> ReadTextDocuments(const std::string& path) {
  return ReadTextDocuments(path, limits::kMaxTextBytes);
}

absl::StatusOr<std::vector<std::string>> ReadTextDocuments(const std::string& path,
                                                           uint64_t most_bytes) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, most_bytes));
  auto documents = ParseTextDocuments(bytes, path, most_bytes);
  if (!documents.ok()) {
    return Annotate(documents.status(), path);
  }
  return documents;
}

std::vector<TokenId> EncodeDocuments(const Tokenizer& tokenizer,
                                     std::span<const std::string> documents) {
  std::vector<TokenId> stream;
  for (const std::string& document : documents) {
    const std::vector<TokenId> tokens = tokenizer.EncodePrompt(document);
    stream.insert(stream.end(), tokens.begin(), tokens.end());
    if (const std::optional<TokenId> end = tokenizer.eos_id()) {
      stream.push_back(*end);
    }
  }
  return stream;
}

}  // namespace ruvd::inference
