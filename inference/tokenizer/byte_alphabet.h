// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ruvd::inference {

// In GPT-2's printable alphabet, vocabularies of byte-level BPE spell each byte that is printable
// in Latin-1 as itself, and the other 68 as U+0100 and following, in byte order.

// Returns the spelling of raw bytes, as UTF-8.
std::string SpellBytes(std::string_view bytes);

// Returns the raw bytes of a spelling, or nullopt if it has a character outside the alphabet.
std::optional<std::string> BytesOfSpelling(std::string_view spelling);

}  // namespace ruvd::inference
