// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "rules.h"

namespace ruvd::architecture {

// The folders of each room and, for each, the folders of the same room that it includes.
using FolderGraph = std::map<std::string, std::set<std::string>>;

inline FolderGraph FoldersOfIncludes(const Files& files) {
  FolderGraph graph;
  const auto folder_of = [](const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == path.find('/') ? path.substr(0, slash) + "/." : path.substr(0, slash);
  };
  for (const SourceFile& file : files) {
    if (!file.IsCpp() || !InARoom(file)) {
      continue;
    }
    std::set<std::string>& included = graph[folder_of(file.path)];
    for (const std::string& path : QuotedIncludes(file)) {
      if (path.starts_with(file.Room() + "/") && folder_of(path) != folder_of(file.path)) {
        included.insert(folder_of(path));
      }
    }
  }
  return graph;
}

// Reads the graph below "### Today" in docs/architecture.md: "room  folder: included ones", where
// more than one space separates two folders, and "." is the top of the room.
inline FolderGraph FoldersOfPage(const std::string& page) {
  FolderGraph graph;
  const size_t begin = page.find("```\n", page.find("### Today"));
  std::istringstream block(page.substr(begin, page.find("\n```", begin) - begin));
  std::string line;
  std::getline(block, line);
  std::string room;
  while (std::getline(block, line)) {
    static const std::regex kRoom(R"(^(\w+) +)");
    static const std::regex kFolder(R"(([\w/.]+):((?: [\w/.]+(?![\w/.:]))*))");
    if (std::smatch match; std::regex_search(line, match, kRoom)) {
      room = match[1];
      line = match.suffix();
    }
    for (auto it = std::sregex_iterator(line.begin(), line.end(), kFolder);
         it != std::sregex_iterator(); ++it) {
      std::set<std::string>& included = graph[room + "/" + (*it)[1].str()];
      std::istringstream names((*it)[2].str());
      for (std::string name; names >> name;) {
        included.insert(room + "/" + name);
      }
    }
  }
  return graph;
}

// The graph in docs/architecture.md is that of the includes.
inline Complaints CheckFolderGraph(const Files& files) {
  const auto page = std::ranges::find(files, "docs/architecture.md", &SourceFile::path);
  if (page == files.end()) {
    return {"docs/architecture.md is missing"};
  }
  Complaints complaints;
  FolderGraph told = FoldersOfPage(page->text);
  const FolderGraph found = FoldersOfIncludes(files);
  for (const auto& [folder, included] : told) {
    if (!found.contains(folder)) {
      complaints.push_back("docs/architecture.md has the folder " + folder + ", which is gone");
    }
  }
  for (const auto& [folder, included] : found) {
    if (!told.contains(folder)) {
      complaints.push_back("docs/architecture.md lacks the folder " + folder);
    }
    std::set<std::string>& here = told[folder];
    for (const std::string& name : included) {
      if (here.erase(name) == 0) {
        complaints.push_back("docs/architecture.md lacks " + folder + ": " + name);
      }
    }
  }
  for (const auto& [folder, left] : told) {
    for (const std::string& name : left) {
      complaints.push_back("docs/architecture.md has " + folder + ": " + name +
                           ", which no source includes");
    }
  }
  return complaints;
}

}  // namespace ruvd::architecture
