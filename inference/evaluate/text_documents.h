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

// Reads the documents of a text file: by its name JSON Lines ("x.jsonl", every line an object with
// a string "text"), anything else as one document of plain text; either may be compressed with
// Zstandard ("x.jsonl.zst", "x.txt.zst"; window up to 128 MiB). Errors: FILE_NOT_FOUND,
// FILE_UNREADABLE (which line is wrong and why), LIMIT_EXCEEDED above `most_bytes`, compressed or
// not; without it limits::kMaxTextBytes.
absl::StatusOr<std::vector<std::string>> ReadTextDocuments(const std::string& path);
absl::StatusOr<std::vector<std::string>> ReadTextDocuments(const std::string& path,
                                                           uint64_t most_bytes);

// The same for bytes in memory; `name` decides the format as a file's name does.
absl::StatusOr<std::vector<std::string>> ParseTextDocuments(std::string_view bytes,
                                                            std::string_view name);
absl::StatusOr<std::vector<std::string>> ParseTextDocuments(std::string_view bytes,
                                                            std::string_view name,
                                                            uint64_t most_bytes);

// One stream of tokens: every document, behind the beginning-of-text token where the model's file
// wants it and followed by the end-of-text token where the tokenizer has one. Special tokens in the
// text are not parsed.
std::vector<TokenId> EncodeDocuments(const Tokenizer& tokenizer,
                                     std::span<const std::string> documents);

}  // namespace ruvd::inference
