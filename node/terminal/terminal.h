// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ruvd::cli {

// Makes text from a model or a peer safe for a terminal: control characters other than newline and
// tab become U+FFFD, so that the text cannot move the cursor or set the window's title.
std::string Printable(std::string_view text);

// Does what Printable does, and turns newlines and tabs into blanks, so that a name or task cannot
// forge a line of its own.
std::string PrintableLine(std::string_view text);

// Splits UTF-8 into its characters; an invalid byte becomes a part of its own.
std::vector<std::string_view> SplitCharacters(std::string_view text);

// Returns the columns that `text` takes, counting one per character.
size_t DisplayWidth(std::string_view text);

// Returns rows of equal length below a header. Columns are padded to their widest cell and two
// blanks separate them; the last cell of a row is not padded. Cells are made printable.
std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows);

// Returns one line "name  value" for each field, with the names padded. Names and values are made
// printable and stay on one line.
std::string FormatFields(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace ruvd::cli
