// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

// Reads the documents of a text file. The name decides the format: "x.jsonl" is JSON Lines (every
// line an object with a string "text"), any other name is one document of plain text, and both may
// be compressed with Zstandard ("x.jsonl.zst", "x.txt.zst"; window up to 128 MiB). Errors:
// FILE_NOT_FOUND, FILE_UNREADABLE (with the number of the wrong line and the cause), and
// LIMIT_EXCEEDED if the text has more than `most_bytes` bytes (default limits::kMaxTextBytes),
// compressed or not.
absl::StatusOr<std::vector<std::string>> ReadTextDocuments(const std::string& path);
absl::StatusOr<std::vector<std::string>> ReadTextDocuments(const std::string& path,
                                                           uint64_t most_bytes);

// Parses bytes in memory in the same way; `name` decides the format as a file name does.
absl::StatusOr<std::vector<std::string>> ParseTextDocuments(std::string_view bytes,
                                                            std::string_view name);
absl::StatusOr<std::vector<std::string>> ParseTextDocuments(std::string_view bytes,
                                                            std::string_view name,
                                                            uint64_t most_bytes);

// Returns one stream of tokens with every document. A beginning-of-text token precedes each
// document if the model's file asks for it, and an end-of-text token follows if the tokenizer has
// one. Special tokens in the text are not parsed.
std::vector<TokenId> EncodeDocuments(const Tokenizer& tokenizer,
                                     std::span<const std::string> documents);

}  // namespace ruvd::inference
