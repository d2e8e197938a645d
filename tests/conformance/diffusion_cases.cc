// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "inference/sampler/diffusion_loop.h"
#include "tests/conformance/suite.h"

namespace ruvd::conformance {
namespace {

using nlohmann::json;

std::optional<inference::CommitOrder> OrderByName(std::string_view name) {
  if (name == "confidence") {
    return inference::CommitOrder::kConfidence;
  }
  if (name == "margin") {
    return inference::CommitOrder::kMargin;
  }
  if (name == "entropy") {
    return inference::CommitOrder::kEntropy;
  }
  if (name == "position") {
    return inference::CommitOrder::kPosition;
  }
  return std::nullopt;
}

// Returns the run that a trace file describes; nullopt for a schedule or order that we do not have.
std::optional<inference::DiffusionRun> ReadRun(const json& trace, const inference::Model& model) {
  inference::DiffusionRun run;
  const auto schedule = trace.at("schedule").get<std::string>();
  const auto order = OrderByName(trace.at("order").get<std::string>());
  if (!order || (schedule != "timestep" && schedule != "block")) {
    return std::nullopt;
  }
  run.order = *order;
  if (schedule == "timestep") {
    run.schedule = inference::DiffusionScheduleKind::kTimestep;
    run.eps = trace.at("eps").get<double>();
  } else {
    run.schedule = inference::DiffusionScheduleKind::kBlock;
    run.block = trace.at("block").get<int>();
  }
  run.steps = trace.at("steps").get<int>();
  run.vocabulary = model.config().vocabulary;
  run.mask = trace.at("mask_id").get<inference::TokenId>();
  run.shift = trace.at("shift").get<bool>();
  return run;
}

// Runs our step on the tokens of the trace: only the positions can be predicted.
absl::StatusOr<std::string> CompareForced(const json& trace, const inference::DiffusionRun& run,
                                          const inference::WindowLogits& logits) {
  for (const json& step : trace.at("trace")) {
    const int number = step.at("step").get<int>();
    auto tokens = step.at("before").get<std::vector<inference::TokenId>>();
    ASSIGN_OR_RETURN(
        const std::vector<int> committed,
        inference::DenoiseStep(logits, run, trace.at("prompt_length").get<int>(), number, &tokens));
    if (committed != step.at("committed").get<std::vector<int>>()) {
      return fmt::format("step {} commits [{}]", number, fmt::join(committed, " "));
    }
  }
  return std::string();
}

// Runs all steps on our own tokens.
absl::StatusOr<std::string> CompareFree(const json& trace, const inference::DiffusionRun& run,
                                        const inference::WindowLogits& logits) {
  const json& expected = trace.at("trace");
  auto prompt = expected.at(0).at("before").get<std::vector<inference::TokenId>>();
  prompt.resize(trace.at("prompt_length").get<size_t>());
  ASSIGN_OR_RETURN(const inference::DiffusionTrace actual,
                   DecodeTrace(logits, run, prompt, trace.at("length").get<int>()));
  if (actual.steps.size() != expected.size()) {
    return fmt::format("{} steps instead of {}", actual.steps.size(), expected.size());
  }
  for (size_t i = 0; i < actual.steps.size(); ++i) {
    if (actual.steps[i].before != expected[i].at("before").get<std::vector<inference::TokenId>>()) {
      return fmt::format("the tokens before step {} differ", i);
    }
    if (actual.steps[i].committed != expected[i].at("committed").get<std::vector<int>>()) {
      return fmt::format("step {} commits [{}]", i, fmt::join(actual.steps[i].committed, " "));
    }
  }
  return actual.final == trace.at("final").get<std::vector<inference::TokenId>>()
             ? std::string()
             : std::string("the final tokens differ");
}

absl::Status RunCase(const Suite& suite, const std::string& id, const json& entry,
                     inference::Precision precision) {
  const auto model = LoadModel(suite, id, entry.at("model"));
  if (model == nullptr) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile(suite.Path(entry.at("file")), kMaxFixtureBytes));
  const json trace = json::parse(text);
  const auto run = ReadRun(trace, *model);
  if (!run) {
    suite.report->Fail(id, "schedule or order not supported");
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto transformer, MakeTransformer(model, precision));
  const inference::WindowLogits logits = inference::BidirectionalLogits(*transformer);
  ASSIGN_OR_RETURN(const std::string difference, trace.at("forced").get<bool>()
                                                     ? CompareForced(trace, *run, logits)
                                                     : CompareFree(trace, *run, logits));
  if (!difference.empty()) {
    suite.report->Fail(id, difference);
    return absl::OkStatus();
  }
  suite.report->Pass();
  return absl::OkStatus();
}

}  // namespace

void RunDiffusion(const Suite& suite) {
  for (const auto& entry : suite.manifest.at("diffusion")) {
    for (const inference::Precision precision : suite.precisions) {
      const std::string id = fmt::format("diffusion {} {}", entry.at("id").get<std::string>(),
                                         PrecisionName(precision));
      if (absl::Status status = RunCase(suite, id, entry, precision); !status.ok()) {
        suite.report->Fail(id, MessageOf(status));
      }
    }
  }
}

}  // namespace ruvd::conformance
