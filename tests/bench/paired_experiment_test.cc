// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/paired.h"

namespace ruvd::bench {
namespace {

// Crops of one document say the same thing again: they narrow no interval, single values would.
TEST(BootstrapTest, ResamplesWholeDocuments) {
  std::vector<double> values;
  std::vector<size_t> documents;
  for (size_t document = 0; document < 8; ++document) {
    for (int crop = 0; crop < 20; ++crop) {
      values.push_back(document % 2 == 0 ? 1.0 : -1.0);
      documents.push_back(1000 + document);
    }
  }
  const Interval grouped = BootstrapDocuments(values, documents);
  const Interval single = Bootstrap(values);
  EXPECT_NEAR(grouped.mean, 0.0, 1e-12);
  EXPECT_NEAR(single.mean, 0.0, 1e-12);
  EXPECT_LE(grouped.low, -0.5);
  EXPECT_GE(grouped.high, 0.5);
  EXPECT_GT(single.low, -0.25);
  EXPECT_LT(single.high, 0.25);
}

TEST(BootstrapTest, LongDocumentsCountMore) {
  const std::vector<double> values = {1.0, 1.0, 1.0, 0.0};
  const std::vector<size_t> documents = {5, 5, 5, 2};
  const Interval interval = BootstrapDocuments(values, documents);
  EXPECT_NEAR(interval.mean, 0.75, 1e-12);
  EXPECT_EQ(interval.low, 0.0);  // the short one twice
  EXPECT_EQ(interval.high, 1.0);
  EXPECT_EQ(BootstrapDocuments({}, {}).mean, 0.0);
}

TEST(ResultsFileTest, AppearsWhenItIsWritten) {
  const std::string path = ::testing::TempDir() + "/results_file_test.json";
  std::filesystem::remove(path);
  auto file = ResultsFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE((*file)->Write({{"answer", 42}}).ok());
  EXPECT_EQ(nlohmann::json::parse(ReadFile(path, 1000).value())["answer"], 42);
  std::filesystem::remove(path);
}

TEST(ResultsFileTest, SaysAtOnceThatItCannotBeWritten) {
  EXPECT_EQ(ReasonOf(ResultsFile::Create("/nonexistent/folder/x.json").status()),
            reasons::kFileUnwritable);
  EXPECT_EQ(ReasonOf(ResultsFile::Create("/dev/full").status()), reasons::kFileUnwritable);
  auto nowhere = ResultsFile::Create("");
  ASSERT_TRUE(nowhere.ok());
  EXPECT_TRUE((*nowhere)->Write({}).ok());
}

// The folder goes away while the experiment runs.
TEST(ResultsFileTest, ReportsThatWritingFailed) {
  const std::string folder = ::testing::TempDir() + "/results_file_folder";
  std::filesystem::create_directory(folder);
  auto file = ResultsFile::Create(folder + "/x.json");
  ASSERT_TRUE(file.ok()) << file.status();
  std::filesystem::remove_all(folder);
  EXPECT_EQ(ReasonOf((*file)->Write({})), reasons::kFileUnwritable);
}

}  // namespace
}  // namespace ruvd::bench
