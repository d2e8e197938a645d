// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The verbs that make files to lie beside a model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "inference/adapter/frame_set.h"
#include "inference/memory/memory_parameters.h"
#include "inference/model/model.h"
#include "node/program/program.h"
#include "tests/paths.h"

namespace ruvd::node {
namespace {

using ::testing::HasSubstr;

class CliModelTest : public ::testing::Test {
 protected:
  CliModelTest() {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~CliModelTest() override { std::filesystem::remove_all(folder_); }
  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    cli::CommandContext context{.out = out_, .err = err_, .environment = {}};
    return RunProgram(arguments, context);
  }
  std::filesystem::path folder_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CliModelTest, ModelFrameWritesAFrame) {
  const std::string model = test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf";
  const std::string out = folder_ / "frame.gguf";
  ASSERT_EQ(Run({"model", "frame", "--model", model, "--out", out, "--kind", "random", "--rank",
                 "4", "--format", "json"}),
            0)
      << err_.str();
  const auto said = nlohmann::json::parse(out_.str());
  const auto frame = inference::LoadFrameSet(out);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(said["id"], ToHex(frame->id));
  EXPECT_EQ(said["modules"], 28);
  ASSERT_EQ(Run({"model", "frame", "--model", model, "--out", out, "--kind", "svd", "--modules",
                 "qv", "--rank", "2"}),
            0)
      << err_.str();
  EXPECT_EQ(inference::LoadFrameSet(out)->kind, inference::FrameKind::kWeight);
  EXPECT_EQ(Run({"model", "frame", "--model", model, "--out", out, "--rank", "0"}), 2);
}

TEST_F(CliModelTest, ModelMemoryLearnsFromKindsOfText) {
  const std::string model = test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf";
  const std::string out = folder_ / "memory.gguf";
  const auto write = [&](const std::string& name, const std::string& thing) {
    std::string lines;
    for (int document = 0; document < 8; ++document) {
      std::string text;
      for (int i = 0; i < 12; ++i) {
        text += "The " + thing + " of house " + std::to_string(7 * document + i) +
                " was checked, and its keeper wrote the result into the book. ";
      }
      lines += nlohmann::json({{"text", text}}).dump() + "\n";
    }
    const std::string path = folder_ / name;
    EXPECT_TRUE(WriteFileAtomically(path, lines).ok());
    return path;
  };
  const std::string a = write("a.jsonl", "boiler");
  const std::string b = write("b.jsonl", "weather vane");
  const std::string general = write("general.jsonl", "long and winding road");
  const std::vector<std::string> arguments = {
      "model",     "memory", "--model", model, "--out",     out, "--kind", a,
      "--general", general,  "--steps", "2",   "--threads", "1", "--key",  "32"};
  EXPECT_EQ(Run(arguments), 1);
  EXPECT_THAT(err_.str(), HasSubstr("two or more kinds of text"));
  std::vector<std::string> enough = arguments;
  enough.insert(enough.end(), {"--kind", b, "--format", "json"});
  ASSERT_EQ(Run(enough), 0) << err_.str();
  EXPECT_EQ(nlohmann::json::parse(out_.str())["kinds"], 2);
  const auto hash = inference::Model::Load(model).value()->hash();
  const auto learned = inference::MemoryParameters::Load(out, hash);
  ASSERT_TRUE(learned.ok()) << learned.status();
  EXPECT_EQ(learned->dimension, 32);
  std::vector<std::string> odd = enough;
  odd.insert(odd.end(), {"--key", "33"});
  EXPECT_NE(Run(odd), 0);
}

TEST_F(CliModelTest, ModelFrameReadsATextForCovariances) {
  const std::string model = test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf";
  const std::string out = folder_ / "frame.gguf";
  const std::string text = folder_ / "text.txt";
  std::string words;
  for (int i = 0; i < 60; ++i) {
    words += "The old man walked down to the sea and counted the ships. ";
  }
  ASSERT_TRUE(WriteFileAtomically(text, words).ok());
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "model",       "frame", "--model",  model, "--out",  out, "--modules", "qv",
        "--sequences", "4",     "--length", "16",  "--rank", "2", "--threads", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  ASSERT_EQ(Run(with({"--text", text})), 0) << err_.str();
  const auto frame = inference::LoadFrameSet(out);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->kind, inference::FrameKind::kCovariance) << "the default";
  EXPECT_EQ(frame->modules.size(), 8U);
  EXPECT_TRUE(frame->has_fisher());
  ASSERT_EQ(Run(with({"--text", text, "--fisher", "0"})), 0) << err_.str();
  const auto bare = inference::LoadFrameSet(out);
  ASSERT_TRUE(bare.ok()) << bare.status();
  EXPECT_FALSE(bare->has_fisher());
  EXPECT_EQ(bare->modules.at("blk.0.attn_q.weight").p, frame->modules.at("blk.0.attn_q.weight").p);
  ASSERT_EQ(Run(with({"--text", text, "--kind", "grad"})), 0) << err_.str();
  EXPECT_EQ(inference::LoadFrameSet(out)->kind, inference::FrameKind::kGradient);
  EXPECT_NE(Run(with({})), 0);
  EXPECT_THAT(err_.str(), HasSubstr("--text"));
}

}  // namespace
}  // namespace ruvd::node
