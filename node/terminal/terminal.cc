// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/terminal.h"

#include <algorithm>
#include <utility>

namespace ruvd::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

size_t SequenceLength(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first < 0xE0) {
    return 2;
  }
  if (first >= 0xE0 && first < 0xF0) {
    return 3;
  }
  return first >= 0xF0 && first < 0xF5 ? 4 : 1;
}

bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// C0 and C1 control characters and DEL; terminals obey both sets.
bool IsControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) {
    return (first < 0x20 && first != '\n' && first != '\t') || first >= 0x7F;
  }
  return character.size() == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

std::string Join(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    if (i + 1 < cells.size()) {
      line.append(widths[i] - DisplayWidth(cells[i]) + 2, ' ');
    }
  }
  return line.append(1, '\n');
}

}  // namespace

std::vector<std::string_view> SplitCharacters(std::string_view text) {
  std::vector<std::string_view> characters;
  while (!text.empty()) {
    size_t length = std::min(SequenceLength(static_cast<unsigned char>(text[0])), text.size());
    for (size_t i = 1; i < length; ++i) {
      if (!IsContinuation(text[i])) {
        length = 1;
      }
    }
    characters.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return characters;
}

std::string Printable(std::string_view text) {
  std::string out;
  for (const std::string_view character : SplitCharacters(text)) {
    out += IsControl(character) ? kReplacement : character;
  }
  return out;
}

std::string PrintableLine(std::string_view text) {
  std::string line = Printable(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

size_t DisplayWidth(std::string_view text) {
  return SplitCharacters(text).size();
}

std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::vector<std::string>> all = {header};
  all.reserve(rows.size() + 1);
  for (const auto& row : rows) {
    std::vector<std::string>& cells = all.emplace_back();
    cells.reserve(row.size());
    for (const std::string& cell : row) {
      cells.push_back(PrintableLine(cell));
    }
  }
  std::vector<size_t> widths(header.size());
  for (const auto& row : all) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  std::string out;
  for (const auto& row : all) {
    out += Join(row, widths);
  }
  return out;
}

std::string FormatFields(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::vector<std::string> names;  // names may come from a file too, such as "llama.block_count"
  size_t width = 0;
  for (const auto& [name, value] : fields) {
    names.push_back(PrintableLine(name));
    width = std::max(width, DisplayWidth(names.back()));
  }
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) {
    out += names[i] + std::string(width - DisplayWidth(names[i]) + 2, ' ') +
           PrintableLine(fields[i].second) + "\n";
  }
  return out;
}

}  // namespace ruvd::cli
