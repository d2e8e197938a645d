// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Compares the error reasons of the code with the tables of docs/api.md, by which clients know what
// to do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source_tree.h"
#include "tests/paths.h"

namespace ruvd::architecture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kPage = "docs/api.md";

std::vector<std::string> FindAll(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern);
       it != std::sregex_iterator(); ++it) {
    found.push_back((*it)[1]);
  }
  return found;
}

// The texts of the constants in every reasons.h.
std::vector<std::string> ReasonsOfCode(const std::vector<SourceFile>& files) {
  static const std::regex kConstant("constexpr\\s+char\\s+k\\w+\\[\\]\\s*=\\s*\"([^\"]*)\"");
  std::vector<std::string> reasons;
  for (const SourceFile& file : files) {
    if (file.path.ends_with("/reasons.h")) {
      std::ranges::move(FindAll(file.text, kConstant), std::back_inserter(reasons));
    }
  }
  return reasons;
}

// The names in the first cells of the tables whose first column is "reason".
std::vector<std::string> ReasonsOfPage(const std::vector<SourceFile>& files) {
  static const std::regex kName("`([^`]*)`");
  std::vector<std::string> reasons;
  const auto page = std::ranges::find(files, kPage, &SourceFile::path);
  if (page == files.end()) {
    return reasons;
  }
  bool in_table = false;
  for (const std::string& line : page->Lines()) {
    in_table = line.starts_with("| reason |") || (in_table && line.starts_with('|'));
    if (in_table) {
      const std::string cell = line.substr(0, line.find('|', 1));
      std::ranges::move(FindAll(cell, kName), std::back_inserter(reasons));
    }
  }
  return reasons;
}

// Returns what is wrong, one text for each reason.
std::vector<std::string> CompareReasons(const std::vector<SourceFile>& files) {
  std::map<std::string, std::pair<int, int>> counts;  // in the code and in the page
  for (const std::string& reason : ReasonsOfCode(files)) {
    ++counts[reason].first;
  }
  for (const std::string& reason : ReasonsOfPage(files)) {
    ++counts[reason].second;
  }
  std::vector<std::string> complaints;
  for (const auto& [reason, count] : counts) {
    const auto [in_code, in_page] = count;
    if (in_code == 0) {
      complaints.push_back(reason + " is in no reasons.h; remove its row");
    } else if (in_page == 0) {
      complaints.push_back(reason + " has no row; say what happened and what to do");
    } else if (in_code > 1 || in_page > 1) {
      complaints.push_back(reason + " is there twice");
    }
  }
  return complaints;
}

TEST(Reasons, EachHasARow) {
  const std::vector<SourceFile> files = LoadTree(test::SourceDir());
  EXPECT_GT(ReasonsOfCode(files).size(), 100u);
  EXPECT_THAT(CompareReasons(files), IsEmpty()) << "in " << kPage;
}

TEST(Reasons, DetectsMissingForeignAndDoubleOnes) {
  const SourceFile code{"base/reasons.h",
                        "inline constexpr char kFirst[] = \"FIRST\";\n"
                        "inline constexpr char kLong[] =\n    \"SECOND\";\n"};
  const auto compare = [&code](const std::string& rows) {
    const SourceFile page{std::string(kPage),
                          "| part |\n|---|\n| `OTHER` |\n\nText of `OTHER`\n\n"
                          "| reason | what happened |\n|---|---|\n" +
                              rows + "\nMore text of `OTHER`\n"};
    return CompareReasons({code, page});
  };
  EXPECT_THAT(compare("| `FIRST` | a |\n| `SECOND` | b, unlike `THIRD` |\n"), IsEmpty());
  EXPECT_THAT(compare("| `FIRST`, `SECOND` | a |\n"), IsEmpty());
  EXPECT_THAT(compare("| `FIRST` | not `SECOND` |\n"), ElementsAre(HasSubstr("SECOND has no row")));
  EXPECT_THAT(compare("| `FIRST` | a |\n| `SECOND` | b |\n| `THIRD` | c |\n"),
              ElementsAre(HasSubstr("THIRD is in no reasons.h")));
  EXPECT_THAT(compare("| `FIRST` | a |\n| `SECOND` | b |\n| `FIRST` | c |\n"),
              ElementsAre(HasSubstr("FIRST is there twice")));
  EXPECT_THAT(CompareReasons({code}),
              ElementsAre(HasSubstr("FIRST has no row"), HasSubstr("SECOND has no row")));
}

}  // namespace
}  // namespace ruvd::architecture
