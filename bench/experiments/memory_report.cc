// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "bench/experiments/paired.h"

namespace ruvd::bench {
namespace {

std::vector<double> GainOf(const Losses& losses, const std::string& arm) {
  std::vector<double> gains = losses.at(arm);
  for (size_t i = 0; i < gains.size(); ++i) {
    gains[i] -= losses.at("frozen")[i];
  }
  return gains;
}

// Returns the mean gain on pieces without a shared stretch; domains weigh the same.
double UnsharedGain(const std::vector<DomainRun>& runs, const std::string& arm) {
  double unshared = 0;
  for (const DomainRun& run : runs) {
    const std::vector<double> gains = GainOf(run.own, arm);
    const auto alone = static_cast<double>(std::ranges::count(run.shared, false));
    for (size_t i = 0; i < gains.size(); ++i) {
      unshared += run.shared[i] ? 0.0 : gains[i] / alone / static_cast<double>(runs.size());
    }
  }
  return unshared;
}

double GeneralPercent(const std::vector<DomainRun>& runs, const std::string& arm) {
  double change = 0;
  double before = 0;
  for (const DomainRun& run : runs) {
    for (size_t i = 0; i < run.general.at(arm).size(); ++i) {
      change += run.general.at(arm)[i] - run.general.at("frozen")[i];
      before += run.general.at("frozen")[i];
    }
  }
  return 100 * change / before;
}

// Returns the interval of the mean over the domains, which weigh the same.
Interval MeanGain(const std::vector<DomainRun>& runs, const std::string& arm) {
  constexpr size_t kMostDocuments = 100'000;  // of a domain
  size_t all = 0;
  for (const DomainRun& run : runs) {
    all += run.documents.size();
  }
  const double share = static_cast<double>(all) / static_cast<double>(runs.size());
  std::vector<double> values;
  std::vector<size_t> documents;
  for (size_t d = 0; d < runs.size(); ++d) {
    const std::vector<double> gains = GainOf(runs[d].own, arm);
    for (size_t i = 0; i < gains.size(); ++i) {
      values.push_back(gains[i] * share / static_cast<double>(gains.size()));
      documents.push_back(d * kMostDocuments + runs[d].documents[i]);
    }
  }
  return BootstrapDocuments(values, documents);
}

}  // namespace

void PrintGains(const std::string& way, const DomainRun& run) {
  for (const auto& [arm, losses] : run.own) {
    if (arm != "frozen") {
      fmt::print(stderr, "{}, {}, {}: {}\n", run.name, way, arm,
                 ToText(BootstrapDocuments(GainOf(run.own, arm), run.documents)));
    }
  }
}

nlohmann::json ReportGains(const std::string& way, const std::vector<DomainRun>& runs) {
  nlohmann::json report;
  fmt::print("\n{}\n| arm | mean of the domains | unshared | general text, % |", way);
  for (const DomainRun& run : runs) {
    fmt::print(" {} |", run.name);
  }
  fmt::print("\n");
  const bool looked = !runs.front().shared.empty();
  for (const auto& [arm, unused] : runs.front().own) {
    if (arm == "frozen") {
      continue;
    }
    std::string domains;
    for (const DomainRun& run : runs) {
      const Interval own = BootstrapDocuments(GainOf(run.own, arm), run.documents);
      domains += fmt::format(" {} |", ToText(own));
      report[arm]["domains"][run.name] = ToJson(own);
    }
    const Interval mean = MeanGain(runs, arm);
    report[arm]["mean"] = ToJson(mean);
    if (looked) {
      report[arm]["unshared"] = UnsharedGain(runs, arm);
    }
    report[arm]["general_percent"] = GeneralPercent(runs, arm);
    fmt::print("| {} | {} | {} | {:+.2f} |{}\n", arm, ToText(mean),
               looked ? fmt::format("{:+.3f}", UnsharedGain(runs, arm)) : "",
               GeneralPercent(runs, arm), domains);
  }
  return report;
}

}  // namespace ruvd::bench
