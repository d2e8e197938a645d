// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/formatter.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/reasons.h"
#include "base/retry_delay.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "node/api/rpc_status.h"
#include "node/cli/last_response.h"
#include "node/client/client.h"
#include "node/client/limits.h"
#include "node/client/request_text.h"
#include "node/client/rpc_error.h"
#include "node/local/demo/child_process.h"
#include "node/local/demo/ports.h"
#include "node/log/log_setup.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::node {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CliProcessTest : public ::testing::Test {
 protected:
  CliProcessTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / test->test_suite_name() / test->name();
    std::filesystem::create_directories(folder_);
  }
  ~CliProcessTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<cli::ChildProcess> Shell(const std::string& script) {
    auto process = cli::ChildProcess::Start({.arguments = {"/bin/sh", "-c", script},
                                             .environment = {"GREETING=hello"},
                                             .log_file = folder_ / "log"});
    EXPECT_TRUE(process.ok()) << process.status();
    return process.ok() ? *std::move(process) : nullptr;
  }

  std::filesystem::path folder_;
};

TEST_F(CliProcessTest, ReadsTheReadyLineAndTheExitCode) {
  auto process = Shell("echo \"$GREETING,$HOME\"; echo trouble >&2; exit 3");
  auto line = process->ReadLine(seconds(20));
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(*line, "hello,");  // the environment has the given variables only
  const auto report = process->Wait(seconds(20));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->code, 3);
  EXPECT_EQ(report->Describe(), "exit code 3");
  EXPECT_EQ(*ReadFile(folder_ / "log", 100), "trouble\n");
}

TEST_F(CliProcessTest, AProcessThatEndsBeforeItIsReadyIsAnError) {
  auto process = Shell("exit 7");
  auto line = process->ReadLine(seconds(20));
  EXPECT_EQ(ReasonOf(line.status()), reasons::kProcessFailed);
  EXPECT_THAT(MessageOf(line.status()), HasSubstr("exit code 7"));
}

TEST_F(CliProcessTest, AProgramThatIsNotThereIsAnError) {
  auto process = cli::ChildProcess::Start(
      {.arguments = {"/absent/program"}, .environment = {}, .log_file = folder_ / "log"});
  ASSERT_TRUE(process.ok());
  EXPECT_THAT(MessageOf((*process)->ReadLine(seconds(20)).status()), HasSubstr("exit code 127"));
}

TEST_F(CliProcessTest, SignalsReachTheProcess) {
  auto process = Shell("echo ready; exec sleep 600");
  ASSERT_TRUE(process->ReadLine(seconds(20)).ok());
  EXPECT_FALSE(process->Wait(std::chrono::milliseconds(0)).has_value());
  process->Signal(SIGTERM);
  const auto report = process->Wait(seconds(20));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->signal, SIGTERM);
  process->Signal(SIGKILL);  // no effect on a process that has the number now
  EXPECT_EQ(process->Wait(seconds(0))->signal, SIGTERM);
}

TEST_F(CliProcessTest, DestructionKills) {
  pid_t pid = 0;
  {
    auto process = Shell("echo ready; exec sleep 600");
    ASSERT_TRUE(process->ReadLine(seconds(20)).ok());
    pid = process->pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

// A port of the range for outgoing connections could be taken by any other program before the
// node binds it.
TEST_F(CliProcessTest, FreePortsDifferAndAreNotThoseOfOutgoingConnections) {
  cli::FreePorts ports;
  auto first = ports.Take(0);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_GT(*first, 1023);
  EXPECT_LT(*first, 32768);
  auto second = ports.Take(0);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(*second, *first);
  auto same = ports.Take(*first);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(*same, *first);
}

TEST_F(CliProcessTest, TheLastResponseIsRemembered) {
  cli::CommandContext context{.out = std::cout, .err = std::cerr};
  context.environment = {{"XDG_STATE_HOME", folder_ / "state"}, {"HOME", "/absent"}};
  EXPECT_EQ(ReasonOf(cli::LoadLastResponse(context).status()), reasons::kUnknownResponse);
  ASSERT_TRUE(cli::StoreLastResponse(context, "r-17").ok());
  EXPECT_EQ(*LoadLastResponse(context), "r-17");
  ASSERT_TRUE(cli::StoreLastResponse(context, "r-18").ok());
  EXPECT_EQ(*LoadLastResponse(context), "r-18");
  context.environment = {{"HOME", folder_}};
  ASSERT_TRUE(cli::StoreLastResponse(context, "r-19").ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ / ".local/state/ruvd/last"));
  context.environment.clear();
  EXPECT_FALSE(cli::StoreLastResponse(context, "r-20").ok());
}

std::string Details(const std::string& reason) {
  google::rpc::Status rich;
  google::rpc::RetryInfo retry;
  rich.add_details()->PackFrom(retry);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("ruvd");
  rich.add_details()->PackFrom(info);
  return rich.SerializeAsString();
}

TEST(CliRpcErrorTest, TheReasonOfTheNodeIsKept) {
  const absl::Status status =
      client::StatusOfCall(3, "too long; shorten", Details("CONTEXT_TOO_LONG"), "s");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(status), "CONTEXT_TOO_LONG");
  EXPECT_EQ(MessageOf(status), "too long; shorten");
  EXPECT_EQ(ReasonOf(client::StatusOfCall(14, "draining", Details("NODE_DRAINING"), "s")),
            "NODE_DRAINING");
}

TEST(CliRpcErrorTest, ABusyNodeSaysWhenToComeAgain) {
  const auto delay = [](const absl::Status& status) {
    const grpc::Status rpc = api::ToRpcStatus(status);
    return RetryDelayOf(client::StatusOfCall(static_cast<int>(rpc.error_code()),
                                             rpc.error_message(), rpc.error_details(), "s"));
  };
  EXPECT_EQ(delay(Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull, "full")),
            std::chrono::milliseconds(200));
  EXPECT_EQ(delay(Error(absl::StatusCode::kInternal, reasons::kInternal, "no")), std::nullopt);
  google::rpc::Status rich;
  google::rpc::ErrorInfo info;
  info.set_reason("MAILBOX_FULL");
  rich.add_details()->PackFrom(info);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1LL << 62);
  retry.mutable_retry_delay()->set_nanos(-5);
  rich.add_details()->PackFrom(retry);
  EXPECT_EQ(RetryDelayOf(client::StatusOfCall(8, "full", rich.SerializeAsString(), "s")),
            limits::kMaxRetryDelay);
}

TEST(CliRpcErrorTest, DamagedOrMissingDetailsStillGiveAnError) {
  EXPECT_TRUE(client::StatusOfCall(0, "", "", "s").ok());
  EXPECT_EQ(ReasonOf(client::StatusOfCall(14, "connect failed", "", "h:1")),
            reasons::kNodeUnreachable);
  EXPECT_THAT(MessageOf(client::StatusOfCall(14, "connect failed", "", "h:1")), HasSubstr("h:1"));
  EXPECT_EQ(ReasonOf(client::StatusOfCall(4, "late", "", "s")), reasons::kDeadlineExceeded);
  const absl::Status damaged = client::StatusOfCall(13, "inside", "\xFF\xFF\xFF", "h:1");
  EXPECT_EQ(damaged.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(MessageOf(damaged), HasSubstr("inside"));
}

TEST(CliRpcErrorTest, AnEmptyMessageNamesTheCode) {
  EXPECT_THAT(MessageOf(client::StatusOfCall(13, "", "", "h:1")),
              AllOf(HasSubstr("INTERNAL"), HasSubstr("h:1")));
}

TEST(CliRequestTextTest, NamesTheFieldAndTheByteThatIsNoUtf8) {
  inference::v1::GenerateRequest request;
  request.set_prompt("žluť");
  EXPECT_TRUE(client::CheckRequestTexts(request).ok());
  request.set_prompt("ab\xFF");
  const absl::Status status = client::CheckRequestTexts(request);
  EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
  EXPECT_THAT(MessageOf(status), HasSubstr("the prompt is not UTF-8: byte 2 is 0xFF"));
  EXPECT_THAT(MessageOf(status), HasSubstr("iconv"));
  inference::v1::TokenizeRequest tokenize;
  tokenize.set_text("a\xC3");  // cut inside a character
  EXPECT_THAT(MessageOf(client::CheckRequestTexts(tokenize)),
              HasSubstr("the text is not UTF-8: byte 1"));
}

// The client refuses before anything is sent: no server listens there.
TEST(CliRequestTextTest, TheClientRefusesIt) {
  client::NodeClient client("127.0.0.1:1");
  inference::v1::TokenizeRequest request;
  request.set_text("\xFF");
  EXPECT_EQ(ReasonOf(client.Call<inference::v1::TokenizeResponse>(request).status()),
            reasons::kInvalidArgument);
  inference::v1::GenerateRequest generate;
  generate.set_prompt("\xFF");
  EXPECT_EQ(ReasonOf(client.Generate(generate, [](const auto&) {})), reasons::kInvalidArgument);
}

TEST(CliLogTest, JsonLinesEscapeWhatTheyCarry) {
  auto formatter = MakeJsonLogFormatter("node \"a\"");
  spdlog::memory_buf_t buffer;
  const std::string text = "line\nbreak \"quote\" \xFF";
  formatter->format(spdlog::details::log_msg(std::chrono::system_clock::time_point(
                                                 std::chrono::milliseconds(1'700'000'000'123)),
                                             {}, "ruvd", spdlog::level::warn, text),
                    buffer);
  const std::string line(buffer.data(), buffer.size());
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["time"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(json["level"], "warning");
  EXPECT_EQ(json["node"], "node \"a\"");
  EXPECT_THAT(json["message"].get<std::string>(), HasSubstr("line\nbreak \"quote\""));
}

}  // namespace
}  // namespace ruvd::node
