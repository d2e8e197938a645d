// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ruvd::inference {

// GPT-2's printable alphabet: vocabularies of byte-level BPE spell the bytes that are printable in
// Latin-1 as themselves and the other 68 as U+0100 and following, in byte order.

// The spelling of raw bytes, as UTF-8.
std::string SpellBytes(std::string_view bytes);

// The raw bytes of a spelling; nullopt where it has a character outside the alphabet.
std::optional<std::string> BytesOfSpelling(std::string_view spelling);

}  // namespace ruvd::inference
