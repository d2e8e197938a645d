// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "base/reasons.h"
#include "base/status.h"
#include "node/local/demo/model_file.h"
#include "node/local/tour/tour.h"
#include "node/local/verbs.h"
#include "node/terminal/command.h"

namespace ruvd::cli {
namespace {

constexpr int kNodes = 3;

absl::StatusOr<std::string> StartCluster(Tour& tour) {
  ASSIGN_OR_RETURN(tour.cluster, DemoCluster::Start({.nodes = kNodes,
                                                     .model = tour.model,
                                                     .environment = tour.environment,
                                                     .usual_ports = false}));
  std::string report;
  for (const DemoNode& node : tour.cluster->nodes()) {
    tour.clients.push_back(std::make_unique<client::NodeClient>(node.api));
    report += fmt::format("{}{} at {}", report.empty() ? "" : ", ", node.name, node.api);
  }
  return report;
}

// Runs a step and prints its result and time. Returns whether the step held.
bool RunStep(CommandContext& context, const TourStep& step, int number, Tour& tour) {
  const auto begin = std::chrono::steady_clock::now();
  const absl::StatusOr<std::string> result = step.run(tour);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  context.out << fmt::format("{} {:2} {} ({:.1f} s)\n     {}\n", result.ok() ? "✓" : "✗", number,
                             step.title, passed.count(),
                             result.ok() ? *result : MessageOf(result.status()))
              << std::flush;
  return result.ok();
}

absl::Status RunTour(CommandContext& context, const std::string& model_flag) {
  const auto begin = std::chrono::steady_clock::now();
  Tour tour;
  tour.environment = context.environment;
  ASSIGN_OR_RETURN(tour.model, FindModel(context, model_flag));
  ASSIGN_OR_RETURN(tour.private_model, FindModel(context, model_flag, ShippedModel::kSmall));
  context.out << fmt::format("tour of a cluster of {} nodes with the model {}\n", kNodes,
                             tour.model);
  std::vector<TourStep> steps = {{"start three nodes", StartCluster}};
  for (const auto group : {LearningSteps(), SharingSteps(), DurabilitySteps(), PrivateSteps()}) {
    steps.insert(steps.end(), group.begin(), group.end());
  }
  int held = 0;
  int number = 0;
  for (const TourStep& step : steps) {
    if (!RunStep(context, step, ++number, tour)) {
      break;  // later steps depend on this one
    }
    ++held;
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  context.out << fmt::format("{} of {} steps held, {:.0f} s\n", held, steps.size(), passed.count());
  if (held == static_cast<int>(steps.size())) {
    return absl::OkStatus();
  }
  if (tour.cluster != nullptr) {
    for (const DemoNode& node : tour.cluster->nodes()) {
      context.err << fmt::format("--- end of the log of {}\n{}\n", node.name, LogTail(node));
    }
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kProcessFailed,
               "step {} of the tour failed: {}; see its result and the logs above", number,
               steps[static_cast<size_t>(number) - 1].title);
}

}  // namespace

void AddTourVerb(VerbTable& verbs) {
  auto model = std::make_shared<std::string>();
  Verb verb = verbs.Add("tour", "Start here", "Check every promise of the demo, step by step",
                        [model](CommandContext& context) { return RunTour(context, *model); });
  verb.Option("--model", *model, "GGUF file of the model; default: the model that came with ruvd");
}

}  // namespace ruvd::cli
