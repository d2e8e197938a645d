// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ruvd::cli {

// Text from a model or a peer, made safe for a terminal: control characters other than newline and
// tab become U+FFFD, so that nobody moves the cursor or sets the window's title from afar.
std::string Printable(std::string_view text);

// The same for what has to stay in its line: newlines and tabs become blanks, so that no name or
// task forges a line of its own.
std::string PrintableLine(std::string_view text);

// Splits UTF-8 into its characters; a byte that starts none stands alone.
std::vector<std::string_view> SplitCharacters(std::string_view text);

// Columns that `text` takes, one per character.
size_t DisplayWidth(std::string_view text);

// Rows of equal length below a header, columns padded to the widest cell, two blanks between. Cells
// are made printable. A row ends where its last cell ends.
std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows);

// "name  value" lines with the names padded; both are made printable and stay in their line.
std::string FormatFields(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace ruvd::cli
