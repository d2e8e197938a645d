// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/dgr_report.h"

#include <fmt/format.h>

#include <utility>

#include "bench/experiments/paired.h"

namespace ruvd::bench {
namespace {

// Returns the probability that a step where the oracle's adapter lowers the loss scores above one
// where it does not; ties count half.
double Auroc(const std::vector<std::pair<double, bool>>& scores) {
  double above = 0;
  double pairs = 0;
  for (const auto& [good, is_good] : scores) {
    for (const auto& [bad, is_bad] : scores) {
      if (is_good && !is_bad) {
        above += good > bad ? 1.0 : good == bad ? 0.5 : 0.0;
        pairs += 1;
      }
    }
  }
  return pairs > 0 ? above / pairs : 0.5;
}

// The pieces that count: all, or those with an informative prompt or without one.
using Chosen = std::vector<size_t>;

Interval Difference(const std::vector<DgrCourse>& a, const std::vector<DgrCourse>& b,
                    const std::vector<DgrPiece>& pieces, const Chosen& chosen) {
  std::vector<double> values;
  std::vector<size_t> documents;
  for (const size_t i : chosen) {
    values.push_back(a[i].nats - b[i].nats);
    documents.push_back(pieces[i].document);
  }
  return BootstrapDocuments(values, documents);
}

}  // namespace

nlohmann::json ReportDgrTriggers(const std::vector<DgrCourse>& prompt_only,
                                 const std::vector<DgrCourse>& oracle, const Chosen& chosen) {
  std::vector<std::pair<double, bool>> usual, entropy, margin;
  for (const size_t i : chosen) {
    for (size_t step = 0; step < prompt_only[i].open_nats.size(); ++step) {
      if (prompt_only[i].t[step] >= inference::DgrOptions().min_t) {
        const bool better = oracle[i].open_nats[step] < prompt_only[i].open_nats[step];
        usual.emplace_back(prompt_only[i].usual[step], better);
        entropy.emplace_back(prompt_only[i].entropy[step], better);
        margin.emplace_back(-prompt_only[i].margin[step], better);
      }
    }
  }
  const nlohmann::json report = {
      {"adaptive", Auroc(usual)}, {"entropy", Auroc(entropy)}, {"confidence_gap", Auroc(margin)}};
  fmt::print("AUROC of the triggers for 'the oracle's adapter lowers the loss': {}\n",
             report.dump());
  return report;
}

nlohmann::json ReportDgrArms(const std::string& group, const std::vector<DgrArm>& arms,
                             const std::vector<std::vector<DgrCourse>>& courses,
                             const std::vector<DgrPiece>& pieces, const Chosen& chosen) {
  nlohmann::json report;
  fmt::print("\n{}: {} pieces\n", group, chosen.size());
  for (size_t a = 0; a < arms.size(); ++a) {
    nlohmann::json& own = report[arms[a].name];
    double nats = 0;
    double queries = 0;
    double right = 0;
    for (const size_t i : chosen) {
      const auto count = static_cast<double>(chosen.size());
      nats += courses[a][i].nats / count;
      queries += courses[a][i].queries / count;
      right += courses[a][i].right / count;
    }
    const Interval gain = Difference(courses[a], courses[1], pieces, chosen);
    const Interval none = Difference(courses[a], courses[0], pieces, chosen);
    own = {{"nats", nats},
           {"queries", queries},
           {"right_adapter", right},
           {"against_none", ToJson(none)},
           {"against_prompt_only", ToJson(gain)}};
    fmt::print(
        "{:<22} {:.4f} nats, {:.2f} queries, right adapter {:.0f} %, against none {:+.4f} "
        "[{:+.4f}, {:+.4f}], against prompt-only {:+.4f} [{:+.4f}, {:+.4f}]",
        arms[a].name, nats, queries, 100 * right, none.mean, none.low, none.high, gain.mean,
        gain.low, gain.high);
    if (arms[a].asks == Asks::kGuided) {
      const Interval random = Difference(courses[a], courses[a + 1], pieces, chosen);
      own["against_random"] = ToJson(random);
      fmt::print(", against random steps {:+.4f} [{:+.4f}, {:+.4f}]", random.mean, random.low,
                 random.high);
    }
    fmt::print("\n");
  }
  return report;
}

std::string DgrVerdict(const nlohmann::json& all) {
  std::string passed;
  for (const auto& [name, arm] : all.items()) {
    if (arm.contains("against_random") && IntervalIn(arm["against_random"]).high < 0 &&
        IntervalIn(arm["against_prompt_only"]).high < 0) {
      passed += (passed.empty() ? "" : ", ") + name;
    }
  }
  return fmt::format("{} better than random steps at as many queries and than the prompt alone",
                     passed.empty() ? "no strategy is shown to be" : passed);
}

}  // namespace ruvd::bench
