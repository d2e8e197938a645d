// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "inference/tokenizer/pre_tokenizer.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

// The words were cut by an independent program; see data/generate_golden_splits.py.
TEST(GoldenSplitsTest, WordsAreThoseOfThePublishedExpressions) {
  const std::string path = test::SourceDir() + "/tests/inference/data/golden_splits.json";
  const auto cases = nlohmann::json::parse(ReadFile(path, 1 << 20).value());
  EXPECT_GE(cases.size(), 200U);
  for (const auto& entry : cases) {
    const auto pre = entry.at("pre").get<std::string>();
    const auto text = entry.at("text").get<std::string>();
    const auto known = PreTokenizerByName(pre);
    ASSERT_TRUE(known.has_value()) << pre;
    std::vector<std::string> words;
    for (const std::string_view word : SplitWords(known->kind, text)) {
      words.emplace_back(word);
    }
    EXPECT_EQ(words, entry.at("words").get<std::vector<std::string>>())
        << pre << " of \"" << text << "\"";
  }
}

}  // namespace
}  // namespace ruvd::inference
