// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The last part of the tour: a crash, hostile envelopes, and an orderly stop.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <map>
#include <thread>

#include "base/reasons.h"
#include "base/status.h"
#include "node/local/tour/link_probe.h"
#include "node/local/tour/tour.h"
#include "node/terminal/limits.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/node/v1/node.pb.h"

namespace ruvd::cli {
namespace {

constexpr std::chrono::seconds kKillTimeout(5);
constexpr std::chrono::seconds kCounted(10);

absl::StatusOr<std::string> CrashAndReturn(Tour& tour) {
  // Two more lessons; the process is killed as soon as the last one is acknowledged.
  for (const TourLesson& lesson : TourLessons().subspan(1)) {
    ASSIGN_OR_RETURN(const auto finished, Complete(tour.a(), lesson.prompt, nullptr));
    ASSIGN_OR_RETURN(const auto answer,
                     Correct(tour.a(), finished.response_id(), lesson.correction));
    if (!answer.pattern_id().empty()) {
      tour.acknowledged.push_back(answer.pattern_id());
    }
  }
  DemoNode& node = tour.node(0);
  RETURN_IF_ERROR(tour.cluster->StopNode(node, SIGKILL, kKillTimeout).status());
  const auto begin = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(tour.cluster->StartNode(node));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  tour.clients[0] = std::make_unique<client::NodeClient>(node.api);
  for (const std::string& id : tour.acknowledged) {
    ASSIGN_OR_RETURN(const bool there, HasPattern(tour.a(), id));
    if (!there) {
      return Unexpected(fmt::format("the acknowledged pattern {} is gone", id));
    }
  }
  ASSIGN_OR_RETURN(const double loss, HeldOutLoss(tour.a(), TourLessons()[0].prompt,
                                                  TourLessons()[0].correction, true));
  if (!(loss < tour.loss_before_a)) {
    return Unexpected(
        fmt::format("the lesson is lost: the loss is {:.4f}, and was {:.4f} before the lesson",
                    loss, tour.loss_before_a));
  }
  return fmt::format(
      "serving again after {:.2f} s, {} of {} acknowledged patterns there, loss {:.4f}",
      passed.count(), tour.acknowledged.size(), tour.acknowledged.size(), loss);
}

absl::StatusOr<std::map<std::string, uint64_t>> Refused(client::NodeClient& client) {
  ASSIGN_OR_RETURN(const auto status,
                   client.Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
  const auto& refused = status.cluster().refused_envelopes();
  return std::map<std::string, uint64_t>(refused.begin(), refused.end());
}

// Calls `send` and waits until b counts one more refusal for `reason`.
absl::Status ExpectRefusal(Tour& tour, const char* reason,
                           const std::function<absl::Status()>& send) {
  ASSIGN_OR_RETURN(auto before, Refused(tour.b()));
  RETURN_IF_ERROR(send());
  return WaitUntil(fmt::format("b counts {}", reason), kCounted,
                   [&]() -> absl::StatusOr<bool> {
                     ASSIGN_OR_RETURN(auto now, Refused(tour.b()));
                     return now[reason] > before[reason];
                   })
      .status();
}

absl::StatusOr<std::string> HostileEnvelopes(Tour& tour) {
  ASSIGN_OR_RETURN(const auto probe,
                   LinkProbe::Open(tour.node(1).federation, tour.cluster->authority(), tour.model));
  RETURN_IF_ERROR(
      ExpectRefusal(tour, reasons::kSignatureInvalid, [&] { return probe->SendForged(); }));
  RETURN_IF_ERROR(ExpectRefusal(tour, reasons::kReplayed, [&] { return probe->SendReplayed(); }));
  RETURN_IF_ERROR(
      ExpectRefusal(tour, reasons::kEnvelopeMalformed, [&] { return probe->SendTruncated(); }));
  ASSIGN_OR_RETURN(const auto counts, Refused(tour.b()));
  std::string report;
  for (const auto& [reason, count] : counts) {
    report += fmt::format("{}{} {}", report.empty() ? "" : ", ", reason, count);
  }
  return report;
}

// Sends SIGTERM while a completion streams. The completion must finish, and then the node must exit
// with 0.
absl::StatusOr<std::string> DrainUnderLoad(Tour& tour) {
  std::promise<void> started;
  inference::v1::Finished finished;
  absl::Status stream_status;
  std::thread stream([&] {
    bool first = true;
    inference::v1::GenerateRequest request;
    request.set_prompt(std::string(TourLessons()[0].prompt));
    request.mutable_sampling()->set_max_tokens(64);
    stream_status = tour.a().Generate(request, [&](const auto& event) {
      if (std::exchange(first, false)) {
        started.set_value();
      }
      if (event.has_finished()) {
        finished = event.finished();
      }
    });
    if (first) {
      started.set_value();
    }
  });
  started.get_future().wait();
  const auto begin = std::chrono::steady_clock::now();
  const auto report = tour.cluster->StopNode(tour.node(0), SIGTERM, limits::kStopSeconds);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  stream.join();
  RETURN_IF_ERROR(report.status());
  RETURN_IF_ERROR(Annotate(stream_status, "the running stream was cut off"));
  if (report->code != 0 || report->signal != 0) {
    return Unexpected(fmt::format("a ended with {}", report->Describe()));
  }
  return fmt::format("a finished a stream of {} tokens, then exit code 0 after {:.2f} s",
                     finished.usage().completion_tokens(), passed.count());
}

absl::StatusOr<std::string> DrainOthers(Tour& tour) {
  std::string result;
  for (size_t i = 1; i < tour.clients.size(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ASSIGN_OR_RETURN(const ExitReport report,
                     tour.cluster->StopNode(tour.node(i), SIGTERM, limits::kStopSeconds));
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (report.code != 0 || report.signal != 0) {
      return Unexpected(fmt::format("{} ended with {}; the end of its log: {}", tour.node(i).name,
                                    report.Describe(), LogTail(tour.node(i))));
    }
    result += fmt::format("{}{} exit code 0 after {:.2f} s", result.empty() ? "" : ", ",
                          tour.node(i).name, passed.count());
  }
  return result;
}

const TourStep kSteps[] = {
    {"kill -9 a and start it again", CrashAndReturn},
    {"forged, replayed and truncated envelopes are refused by b", HostileEnvelopes},
    {"SIGTERM to a while it streams", DrainUnderLoad},
    {"SIGTERM to b and c", DrainOthers},
};

}  // namespace

std::span<const TourStep> DurabilitySteps() {
  return kSteps;
}

}  // namespace ruvd::cli
