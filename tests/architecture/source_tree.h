// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ruvd::architecture {

struct SourceFile {
  std::string path;  // relative to the repository root, with forward slashes
  std::string text;

  bool HasExtension(std::string_view extension) const { return path.ends_with(extension); }
  bool IsCpp() const { return HasExtension(".h") || HasExtension(".cc"); }
  bool IsUnder(std::string_view folder) const {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
  }
  std::string Room() const { return path.substr(0, path.find('/')); }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(line);
    }
    return lines;
  }
};

inline bool IsText(const std::filesystem::path& path) {
  static const std::vector<std::string> kExtensions = {
      ".h",  ".cc",   ".proto", ".cmake", ".sh",   ".py",   ".md",      ".txt",
      ".js", ".json", ".yaml",  ".yml",   ".toml", ".html", ".service", ".css"};
  return std::ranges::find(kExtensions, path.extension().string()) != kExtensions.end();
}

// Returns every text file that belongs to the repository: not what is built, hidden or fetched.
inline std::vector<SourceFile> LoadTree(const std::filesystem::path& root) {
  std::vector<SourceFile> files;
  using Iterator = std::filesystem::recursive_directory_iterator;
  for (auto it = Iterator(root); it != Iterator(); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() &&
        (name.starts_with('.') || name == "build" || name == "node_modules")) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && IsText(it->path())) {
      std::ifstream stream(it->path(), std::ios::binary);
      std::ostringstream text;
      text << stream.rdbuf();
      files.push_back({it->path().lexically_relative(root).generic_string(), text.str()});
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

// The code without comments and without the contents of literals; newlines stay.
inline std::string StripCommentsAndLiterals(const std::string& code) {
  static const std::regex kNoise(
      R"re(R"([^(\s]*)\([\s\S]*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*[\s\S]*?\*/)re");
  std::string out;
  size_t end = 0;
  for (auto it = std::sregex_iterator(code.begin(), code.end(), kNoise);
       it != std::sregex_iterator(); ++it) {
    const auto position = static_cast<size_t>(it->position());
    out.append(code, end, position - end);
    const std::string noise = it->str();
    out += noise.front() == '/' ? " " : "\"\"";
    out.append(static_cast<size_t>(std::ranges::count(noise, '\n')), '\n');
    end = position + noise.size();
  }
  return out.append(code, end);
}

// The paths in `#include "..."`.
inline std::vector<std::string> QuotedIncludes(const SourceFile& file) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*"([^"]+)\")");
  std::vector<std::string> includes;
  for (const std::string& line : file.Lines()) {
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) {
      includes.push_back(match[1]);
    }
  }
  return includes;
}

}  // namespace ruvd::architecture
