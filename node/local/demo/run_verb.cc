// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/demo/run_verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <memory>
#include <optional>

#include "base/reasons.h"
#include "base/status.h"
#include "node/local/demo/child_process.h"

namespace ruvd::cli {
namespace {

constexpr std::chrono::seconds kPatience(60);

absl::Status Failed(const VerbCall& call, std::string_view why) {
  return Error(absl::StatusCode::kInternal, reasons::kProcessFailed,
               "ruvd {} failed: {}; see its log {}", fmt::join(call.arguments, " "), why,
               call.log_file);
}

}  // namespace

absl::StatusOr<std::string> RunVerb(const VerbCall& call) {
  std::vector<std::string> command = {call.program, "--format", "json"};
  command.insert(command.end(), call.arguments.begin(), call.arguments.end());
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ChildProcess> process,
      ChildProcess::Start(
          {.arguments = std::move(command), .environment = {}, .log_file = call.log_file}));
  const absl::StatusOr<std::string> line = process->ReadLine(kPatience);
  if (!line.ok()) {
    return Failed(call, MessageOf(line.status()));
  }
  const std::optional<ExitReport> report = process->Wait(kPatience);
  if (!report || report->code != 0 || report->signal != 0) {
    return Failed(call, report ? report->Describe() : "it does not end");
  }
  return *line;
}

}  // namespace ruvd::cli
