// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the cache of keys and values in a whole node: what inference.kv_* set and what the metrics
// show.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/node/node_fixture.h"
#include "tests/node/scraped_metrics.h"

namespace ruvd::node {
namespace {

class NodeCacheTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    config_.metrics.listen = "127.0.0.1:0";
  }
  double Metric(const std::string& name) {
    const std::string text = test::ScrapeMetrics(node_->metrics_address());
    const size_t found = text.find("\n" + name + " ");
    EXPECT_NE(found, std::string::npos) << name << " is missing in:\n" << text;
    return found == std::string::npos ? -1 : std::strtod(&text[found + name.size() + 2], nullptr);
  }
  static inference::v1::GenerateRequest LongRequest() {
    std::string prompt;
    for (int i = 0; i < 20; ++i) {
      prompt += "The old lighthouse keeper counted the ships. ";
    }
    return Request(prompt, 8);
  }
};

// Found by review: GenerationServices had lost the node's prefix tree, so nothing was shared and
// the budget had no effect.
TEST_F(NodeCacheTest, ALongPromptIsFoundTheSecondTime) {
  Start();
  const Completion first = Generate(LongRequest());
  ASSERT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(Metric("ruvd_prefix_hits_total"), 0);
  EXPECT_GT(Metric("ruvd_kv_bytes"), 0);
  const Completion second = Generate(LongRequest());
  EXPECT_EQ(first.text, second.text);
  EXPECT_EQ(Metric("ruvd_prefix_hits_total"), 1);
  EXPECT_GT(Metric("ruvd_prefix_reused_tokens_total"), 100);
  EXPECT_LT(second.finished.forwards(), first.finished.forwards());
}

TEST_F(NodeCacheTest, TheBudgetHolds) {
  config_.inference.kv_bytes = 256 << 10;
  Start();
  const absl::Status status = Generate(LongRequest()).status;
  EXPECT_EQ(ReasonOf(status), reasons::kKvBudgetExceeded) << status;
  EXPECT_LE(Metric("ruvd_kv_bytes"), 256 << 10);
  EXPECT_TRUE(Generate(Request("The sea", 8)).status.ok()) << "a short one fits";
}

TEST_F(NodeCacheTest, TheFormatDecidesTheMemory) {
  Start();
  ASSERT_TRUE(Generate(LongRequest()).status.ok());
  const double halves = Metric("ruvd_kv_bytes");
  config_.inference.kv_format = "q8";
  Restart();
  ASSERT_TRUE(Generate(LongRequest()).status.ok());
  EXPECT_LT(Metric("ruvd_kv_bytes"), 0.7 * halves);
}

}  // namespace
}  // namespace ruvd::node
