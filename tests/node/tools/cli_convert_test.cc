// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests `ruvd learn convert` on a small random model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "node/program/program.h"
#include "node/terminal/interrupt.h"
#include "tests/inference/causal_model_file.h"

namespace ruvd::cli {
namespace {

using test::CausalModelFile;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Raises a signal when a text is written to it.
class SignallingBuffer final : public std::stringbuf {
 public:
  std::string trigger;

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::streamsize written = std::stringbuf::xsputn(text, size);
    if (!trigger.empty() && str().find(trigger) != std::string::npos) {
      trigger.clear();
      std::raise(SIGINT);
    }
    return written;
  }
};

class CliConvertTest : public ::testing::Test {
 protected:
  CliConvertTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / test->test_suite_name() / test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    RUVD_CHECK(WriteFileAtomically(Path("base.gguf"), CausalModelFile().Serialize()).ok());
    std::string words;
    for (int i = 0; i < 20; ++i) {
      words += "The old man walked down to the sea and counted the ships. ";
    }
    RUVD_CHECK(WriteFileAtomically(Path("text.txt"), words).ok());
  }
  ~CliConvertTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }

  // Converts to `out`, with more arguments.
  int Convert(const std::string& out, const std::vector<std::string>& more = {},
              const std::string& base = "base.gguf") {
    std::vector<std::string> arguments = {
        "learn",     "convert", "--base",  Path(base), "--text",  Path("text.txt"),
        "--out",     Path(out), "--rank",  "2",        "--block", "4",
        "--length",  "16",      "--batch", "2",        "--steps", "10",
        "--threads", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    out_.str("");
    err_.str("");
    std::ostream err(&err_);
    CommandContext context{.out = out_, .err = err};
    return node::RunProgram(arguments, context);
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(Path(name)); }
  std::string Bytes(const std::string& name) const { return ReadFile(Path(name), 1 << 24).value(); }

  std::filesystem::path folder_;
  std::ostringstream out_;
  SignallingBuffer err_;
};

TEST_F(CliConvertTest, WritesABlockDiffusionModelAndSaysWhatItGained) {
  ASSERT_EQ(Convert("out.gguf", {"--format", "json", "--type", "q8_0"}), 0) << err_.str();
  const auto said = nlohmann::json::parse(out_.str());
  EXPECT_LT(said["nelbo_after"], said["nelbo_before"]);
  EXPECT_NEAR(said["nelbo_written"], said["nelbo_after"], 0.05);
  EXPECT_EQ(said["mask_token"], CausalModelFile::kSpare);
  EXPECT_EQ(said["tokens"], "320");
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("step 0 of 10: held-out NELBO"), HasSubstr("step 3 of 10: loss"),
                    HasSubstr("blocks of 4"), HasSubstr("step 10 of 10: held-out NELBO")));
  const auto model = inference::Model::Load(Path("out.gguf"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->config().block_length, 4);
  EXPECT_FALSE(Exists("out.gguf.checkpoint"));
  ASSERT_EQ(Convert("plain.gguf", {"--valid", Path("text.txt")}), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("blocks of 4 tokens, mask token 257"), HasSubstr("->")));
}

TEST_F(CliConvertTest, AnInterruptLeavesACheckpointThatTheSameCommandGoesOnFrom) {
  ASSERT_EQ(Convert("whole.gguf"), 0) << err_.str();
  err_.trigger = "step 4 of 10";
  EXPECT_NE(Convert("out.gguf"), 0);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("stopped at step 4 of 10"), HasSubstr("[CANCELLED]")));
  EXPECT_FALSE(Exists("out.gguf"));
  ASSERT_TRUE(Exists("out.gguf.checkpoint"));
  // Another run does not continue from it.
  EXPECT_NE(Convert("out.gguf", {"--seed", "2"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("another training run"));
  ASSERT_EQ(Convert("out.gguf"), 0) << err_.str();
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("continuing from step 4"), Not(HasSubstr("step 3 of"))));
  EXPECT_EQ(Bytes("out.gguf"), Bytes("whole.gguf"));
  EXPECT_FALSE(Exists("out.gguf.checkpoint"));
}

TEST_F(CliConvertTest, CheckpointsAreWrittenWhereTheFlagSays) {
  err_.trigger = "step 5 of 10";
  EXPECT_NE(Convert("out.gguf", {"--checkpoint", Path("state"), "--checkpoint-every", "2"}), 0);
  EXPECT_TRUE(Exists("state"));
  ASSERT_TRUE(WriteFileAtomically(Path("state"), "nonsense").ok());
  EXPECT_NE(Convert("out.gguf", {"--checkpoint", Path("state")}), 0);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("state"), HasSubstr("--checkpoint")));
}

TEST_F(CliConvertTest, WhatCannotWorkIsSaidAtOnce) {
  EXPECT_EQ(Convert("base.gguf"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("exists already; remove it or name another file with --out"));
  EXPECT_NE(Convert("out.gguf", {"--type", "q9"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("q4_k_m"));
  EXPECT_NE(Convert("absent/out.gguf"), 0);
  EXPECT_THAT(err_.str(), HasSubstr("[FILE_UNWRITABLE]"));
  EXPECT_NE(Convert("out.gguf", {"--mask-token", "<|endoftext|>"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("--mask-token"));
  EXPECT_NE(Convert("out.gguf", {}, "absent.gguf"), 0);
  EXPECT_THAT(err_.str(), HasSubstr("[FILE_NOT_FOUND]"));
  EXPECT_EQ(Convert("out.gguf", {"--rank", "0"}), 2);
  EXPECT_FALSE(Exists("out.gguf"));
}

TEST(InterruptTest, NotesSignalsWhileItLives) {
  {
    const Interrupt interrupt;
    EXPECT_FALSE(interrupt.raised());
    std::raise(SIGTERM);
    EXPECT_TRUE(interrupt.raised());
  }
  EXPECT_FALSE(Interrupt().raised());
  struct sigaction now{};
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace ruvd::cli
