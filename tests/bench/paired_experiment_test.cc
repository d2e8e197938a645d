// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/paired.h"

namespace ruvd::bench {
namespace {

// Crops of one document repeat the same information: they must not narrow an interval, as single
// values would.
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
  std::vector<double> values(20, 1.0);  // of one document
  std::vector<size_t> documents(20, 7);
  for (size_t document = 0; document < 5; ++document) {
    values.push_back(0.0);
    documents.push_back(document);
  }
  const Interval interval = BootstrapDocuments(values, documents);
  EXPECT_NEAR(interval.mean, 0.8, 1e-12);
  EXPECT_EQ(interval.low, 0.0);  // the long one not at all
  EXPECT_GT(interval.high, 0.8);
  EXPECT_EQ(BootstrapDocuments({}, {}).mean, 0.0);
}

// Regression test: the interval had no width, so any verdict on it passed.
TEST(BootstrapTest, AFewDocumentsProveNothing) {
  std::vector<double> values;
  std::vector<size_t> documents;
  for (size_t document = 0; document < kMinDocuments; ++document) {
    if (document > 0) {
      const Interval interval = BootstrapDocuments(values, documents);
      EXPECT_EQ(interval.mean, -1.0);
      EXPECT_EQ(interval.low, -std::numeric_limits<double>::infinity());
      EXPECT_EQ(interval.high, std::numeric_limits<double>::infinity());
      EXPECT_TRUE(ToJson(interval)["high"].is_null());
      EXPECT_EQ(IntervalIn(ToJson(interval)).low, interval.low);
      EXPECT_EQ(IntervalIn(ToJson(interval)).high, interval.high);
    }
    values.insert(values.end(), 10, -1.0);
    documents.insert(documents.end(), 10, document);
  }
  EXPECT_EQ(BootstrapDocuments(values, documents).high, -1.0);
  EXPECT_EQ(IntervalIn(ToJson(BootstrapDocuments(values, documents))).high, -1.0);
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

// The folder is removed while the experiment runs.
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
