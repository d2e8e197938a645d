// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the instant loop is worth: `learn_instant --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/instant_arms.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/session_scores.h"
#include "inference/backend/backend.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Prequential test of session memory: a document is a session of requests; each request is\n"
    "predicted, then learned. Masked models predict tokens under common random masks "
    "(1/t-weighted\n"
    "nats/token, a NELBO of the request given the text before it); --mode ar from left to right.\n"
    "Arms: frozen model, unigram cache of the session, output rows, neighbours (kNN), both. The\n"
    "settings of each are those that did best on a slice of the domains' train files; the figures\n"
    "are of their valid files and of --eval. Differences are paired by document, with 95 %\n"
    "bootstrap intervals over documents.";

constexpr double kTarget = -0.10;  // nats/token against the frozen model

struct Arguments : CommonArguments {
  std::string mode = "masked";
  SessionShape shape;
  size_t tuning = 3;  // sessions of each domain
  size_t sessions = 1000;
};

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

// The best of each family, in the order the families first appear.
std::vector<ArmSettings> BestOfEach(const std::vector<ArmSettings>& arms,
                                    const std::vector<ArmResult>& results) {
  std::vector<ArmSettings> best;
  std::vector<double> nats;
  for (size_t i = 0; i < arms.size(); ++i) {
    const double own = Mean(results[i].nats);
    fmt::print("tuning: {:.4f} {}\n", own, arms[i].name);
    const auto known = std::find_if(best.begin(), best.end(), [&](const ArmSettings& other) {
      return other.family == arms[i].family;
    });
    const auto at = static_cast<size_t>(known - best.begin());
    if (known == best.end()) {
      best.push_back(arms[i]);
      nats.push_back(own);
    } else if (own < nats[at]) {
      best[at] = arms[i];
      nats[at] = own;
    }
  }
  return best;
}

std::vector<ArmSettings> Grid() {
  std::vector<ArmSettings> arms = {FrozenArm()};
  for (const float share : {0.02F, 0.03F, 0.05F, 0.08F, 0.12F}) {
    arms.push_back(UnigramArm(share));
  }
  for (const float step : {0.1F, 0.2F, 0.4F, 0.6F}) {
    arms.push_back(MemoryArm("rows", step, 0, 0.05F, 0, 0));
  }
  arms.push_back(MemoryArm("knn", 0, 0.1F, 0.05F, 16, 0));  // as in kNN-LM
  arms.push_back(MemoryArm("knn", 0, 0.1F, 0.05F, 256, 0));
  for (const float share : {0.3F, 0.4F, 0.6F}) {
    for (const float prior : {0.5F, 1.0F, 2.0F}) {
      arms.push_back(MemoryArm("knn", 0, share, 0.08F, 256, prior));
    }
  }
  for (const float step : {0.1F, 0.2F, 0.4F}) {
    arms.push_back(MemoryArm("both", step, 0.1F, 0.05F, 256, 0));
    for (const float prior : {1.0F, 2.0F}) {
      arms.push_back(MemoryArm("both", step, 0.4F, 0.08F, 256, prior));
    }
  }
  return arms;
}

std::vector<double> Differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    differences[i] = a[i] - b[i];
  }
  return differences;
}

// Returns those of `values` whose session is of `set`; all of them where `set` is empty.
std::vector<double> Of(const std::string& set, const std::vector<Session>& sessions,
                       const std::vector<double>& values) {
  std::vector<double> chosen;
  for (size_t i = 0; i < values.size(); ++i) {
    if (sessions[i].set == set) {
      chosen.push_back(values[i]);
    }
  }
  return chosen;
}

nlohmann::json ReportSet(const std::string& set, const std::vector<Session>& sessions,
                         const std::vector<ArmSettings>& arms,
                         const std::vector<ArmResult>& results) {
  nlohmann::json report;
  const std::vector<double> frozen = Of(set, sessions, results[0].nats);
  const std::vector<double> frozen_late = Of(set, sessions, results[0].late);
  const std::vector<double> unigram = Of(set, sessions, results[1].nats);
  report["sessions"] = frozen.size();
  report["frozen"] = Mean(frozen);
  fmt::print("\n{}: {} sessions, frozen {:.3f} nats/token\n", set, frozen.size(), Mean(frozen));
  fmt::print("| arm | against frozen | second half | against unigram cache | better |\n");
  for (size_t i = 1; i < arms.size(); ++i) {
    const std::vector<double> own = Of(set, sessions, results[i].nats);
    const std::vector<double> gains = Differences(own, frozen);
    const Interval gain = Bootstrap(gains);
    const Interval late = Bootstrap(Differences(Of(set, sessions, results[i].late), frozen_late));
    const Interval cache = Bootstrap(Differences(own, unigram));
    const auto better = std::count_if(gains.begin(), gains.end(), [](double x) { return x < 0; });
    fmt::print("| {} | {} | {} | {} | {}/{} |\n", arms[i].family, ToText(gain), ToText(late),
               ToText(cache), better, gains.size());
    report["arms"][arms[i].family] = {{"against_frozen", ToJson(gain)},
                                      {"second_half", ToJson(late)},
                                      {"against_unigram", ToJson(cache)},
                                      {"better", better}};
  }
  return report;
}

void ReportByT(const std::vector<ArmSettings>& arms, const std::vector<ArmResult>& results,
               nlohmann::json* out) {
  fmt::print("\ncross-entropy by t, all sets\n");
  for (size_t i = 0; i < arms.size(); ++i) {
    nlohmann::json bins;
    fmt::print("| {} |", arms[i].family);
    for (size_t bin = 0; bin < kTimestepBins; ++bin) {
      const double mean = results[i].by_t[bin] / std::max(1.0, results[i].counts[bin]);
      bins.push_back(mean);
      fmt::print(" {:.3f} |", mean);
    }
    fmt::print("\n");
    (*out)["nats_by_t"][arms[i].family] = bins;
  }
}

// Our best arm passes where both targets hold on the set.
std::string Verdict(const nlohmann::json& set) {
  std::string passed;
  for (const auto& [family, arm] : set["arms"].items()) {
    const bool wins = family != "unigram" && IntervalIn(arm["against_frozen"]).high <= kTarget &&
                      IntervalIn(arm["against_unigram"]).high < 0;
    passed += wins ? (passed.empty() ? "" : ", ") + family : "";
  }
  return passed.empty() ? "no arm" : passed;
}

absl::StatusOr<std::vector<Session>> ReadTuning(const Arguments& arguments,
                                                const std::vector<std::string>& domains,
                                                const inference::Tokenizer& tokenizer) {
  std::vector<Session> all;
  for (const std::string& domain : domains) {
    ASSIGN_OR_RETURN(std::vector<Session> own,
                     ReadSessions(fmt::format("{}/{}.train.jsonl.zst", arguments.corpus, domain),
                                  domain, tokenizer, arguments.shape, arguments.tuning));
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

absl::StatusOr<std::vector<Session>> ReadTest(const Arguments& arguments,
                                              std::vector<std::string>* sets,
                                              const inference::Tokenizer& tokenizer) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& domain : *sets) {
    files.emplace_back(domain, fmt::format("{}/{}.valid.jsonl.zst", arguments.corpus, domain));
  }
  if (!arguments.eval.empty()) {
    sets->push_back(std::filesystem::path(arguments.eval).filename().string());
    files.emplace_back(sets->back(), arguments.eval);
  }
  std::vector<Session> all;
  for (const auto& [set, path] : files) {
    ASSIGN_OR_RETURN(std::vector<Session> own,
                     ReadSessions(path, set, tokenizer, arguments.shape, arguments.sessions));
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const auto transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kFast, .runner = runner}));
  ASSIGN_OR_RETURN(std::vector<std::string> sets, DomainsIn(arguments.corpus));
  ASSIGN_OR_RETURN(const std::vector<Session> tuning,
                   ReadTuning(arguments, sets, model->tokenizer()));
  SessionRuns runs{.shape = arguments.shape, .masked = arguments.mode == "masked"};
  const std::vector<ArmSettings> grid = Grid();
  ASSIGN_OR_RETURN(const std::vector<ArmResult> tuned,
                   RunSessions(*transformer, tuning, runs, grid));
  runs.seeds = arguments.seeds;
  const std::vector<ArmSettings> arms = BestOfEach(grid, tuned);
  ASSIGN_OR_RETURN(const std::vector<Session> test, ReadTest(arguments, &sets, model->tokenizer()));
  ASSIGN_OR_RETURN(const std::vector<ArmResult> results,
                   RunSessions(*transformer, test, runs, arms));
  nlohmann::json out = {{"experiment", "learn_instant"},
                        {"model", std::filesystem::path(arguments.model).filename().string()},
                        {"mode", arguments.mode},
                        {"requests", arguments.shape.requests},
                        {"tokens", arguments.shape.tokens},
                        {"context", arguments.shape.context},
                        {"seeds", arguments.seeds}};
  for (const ArmSettings& arm : arms) {
    out["settings"][arm.family] = arm.name;
    fmt::print("chosen: {}\n", arm.name);
  }
  for (const std::string& set : sets) {
    out["sets"][set] = ReportSet(set, test, arms, results);
  }
  ReportByT(arms, results, &out);
  for (const std::string& set : sets) {
    out["verdict"][set] = Verdict(out["sets"][set]);
    fmt::print(
        "verdict, {}: {} passes (interval of the gain beyond {} nats/token, and better "
        "than the unigram cache)\n",
        set, out["verdict"][set].get<std::string>(), kTarget);
  }
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  ruvd::bench::AddCommonFlags(
      {.eval = "a further file of documents to report", .seeds = "draws of masks"}, &app,
      &arguments);
  app.add_option("--mode", arguments.mode)->check(CLI::IsMember({"masked", "ar"}));
  app.add_option("--requests", arguments.shape.requests)->check(CLI::Range(2, 64));
  app.add_option("--tokens", arguments.shape.tokens)->check(CLI::Range(8, 256));
  app.add_option("--context", arguments.shape.context)->check(CLI::Range(1, 4096));
  app.add_option("--tuning", arguments.tuning, "sessions of each domain to choose settings by");
  app.add_option("--sessions", arguments.sessions, "at most so many of each file");
  return ruvd::bench::RunExperiment(app, argc, argv, [&] { return ruvd::bench::Run(arguments); });
}
