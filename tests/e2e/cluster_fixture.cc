// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/e2e/cluster_fixture.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/status.h"
#include "node/local/demo/child_process.h"
#include "node/terminal/limits.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/paths.h"

namespace ruvd::cli {
namespace {

constexpr std::chrono::seconds kCallTimeout(60);

std::string TextOf(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// Quotes one argument for sh.
std::string Quoted(const std::string& argument) {
  std::string quoted = "'";
  for (const char c : argument) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace

std::string ClusterTest::Model() {
  return test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf";
}

std::string ClusterTest::Program() {
  return test::BinaryDir() + "/node/ruvd";
}

void ClusterTest::StartCluster(int nodes) {
  auto cluster = DemoCluster::Start(
      {.nodes = nodes, .model = Model(), .environment = {}, .program = Program()});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  cluster_ = *std::move(cluster);
  for (const DemoNode& started : cluster_->nodes()) {
    clients_.push_back(std::make_unique<client::NodeClient>(started.api));
  }
}

ClusterTest::Output ClusterTest::Ruvd(size_t index, const std::vector<std::string>& arguments) {
  const std::filesystem::path folder(cluster_->folder());
  std::string line = Quoted(Program()) + " --server " + node(index).api;
  for (const std::string& argument : arguments) {
    line += " " + Quoted(argument);
  }
  line += " > " + Quoted(folder / "call.out");
  auto process = ChildProcess::Start({.arguments = {"/bin/sh", "-c", line},
                                      .environment = {"HOME=" + folder.string()},
                                      .log_file = folder / "call.err"});
  EXPECT_TRUE(process.ok()) << process.status();
  if (!process.ok()) {
    return {};
  }
  const auto report = (*process)->Wait(kCallTimeout);
  EXPECT_TRUE(report.has_value()) << line << " did not end";
  Output output = {.code = report ? report->code : -1,
                   .text = TextOf(folder / "call.out"),
                   .errors = TextOf(folder / "call.err")};
  std::filesystem::remove(folder / "call.err");
  return output;
}

ExitReport ClusterTest::Stop(size_t index, int signal) {
  const auto report = cluster_->StopNode(node(index), signal, limits::kStopSeconds);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(ExitReport{.code = -1});
}

void ClusterTest::Restart(size_t index) {
  const auto started = cluster_->StartNode(node(index));
  ASSERT_TRUE(started.ok()) << started;
  clients_[index] = std::make_unique<client::NodeClient>(node(index).api);
}

std::string ClusterTest::Teach(size_t index, const TourLesson& lesson) {
  const auto finished = Complete(client(index), lesson.prompt, nullptr);
  EXPECT_TRUE(finished.ok()) << finished.status();
  if (!finished.ok()) {
    return "";
  }
  const auto answer = Correct(client(index), finished->response_id(), lesson.correction);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? answer->pattern_id() : "";
}

double ClusterTest::Loss(size_t index, const TourLesson& lesson, bool with_adapters) {
  const auto loss = HeldOutLoss(client(index), lesson.prompt, lesson.correction, with_adapters);
  EXPECT_TRUE(loss.ok()) << loss.status();
  return loss.value_or(0);
}

absl::StatusOr<size_t> ClusterTest::PatternsFrom(size_t index, const std::string& origin) {
  ASSIGN_OR_RETURN(const auto patterns, client::AllPatterns(client(index)));
  return static_cast<size_t>(std::ranges::count_if(
      patterns, [&](const auto& pattern) { return pattern.origin() == origin; }));
}

void ClusterTest::AwaitMembers(size_t index, uint32_t members) {
  const auto waited =
      WaitUntil("the number of live members", kEventually, [&]() -> absl::StatusOr<bool> {
        ASSIGN_OR_RETURN(const auto status, client(index).Call<node::v1::GetStatusResponse>(
                                                node::v1::GetStatusRequest()));
        return status.cluster().members_alive() == members;
      });
  ASSERT_TRUE(waited.ok()) << waited.status();
}

}  // namespace ruvd::cli
