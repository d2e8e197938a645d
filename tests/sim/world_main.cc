// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Runs a simulated federation, seed by seed: `world --help`.

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <string>

#include "tests/sim/signature_memo.h"
#include "tests/sim/world.h"
#include "tests/sim/world_arguments.h"
#include "tests/sim/world_report.h"

namespace ruvd::test {
namespace {

constexpr char kDescription[] =
    "A cluster of real gossip cores over a simulated clock, network and disk: everything that\n"
    "happens follows from the seed. Each seed picks its own faults, loss and Byzantine members\n"
    "unless flags choose them, and ends with a phase without faults, after which all honest nodes\n"
    "must hold the same items, among them every acknowledged one, and see each other alive.\n"
    "Exit status: 0 all well, 1 an invariant was violated (stderr says how to repeat it), 2 wrong\n"
    "flags.";

uint64_t PeakRss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

int RunWorlds(const WorldArguments& arguments, const WorldOptions& base, const SeedRange& seeds) {
  Summary summary{.nodes = base.nodes, .runs = {}, .cost = {}};
  summary.simulated_signatures = WithSimulatedSignatures(arguments);
  SimulateSignatures(summary.simulated_signatures);
  const uint64_t rss_before = PeakRss();
  const std::clock_t begin = std::clock();
  bool well = true;
  for (uint64_t seed = seeds.first;; ++seed) {
    WorldOptions options = base;
    options.seed = seed;
    summary.runs.push_back(World(options).Run());
    for (const Violation& violation : summary.runs.back().violations) {
      well = false;
      fmt::print(stderr, "seed {}: {}: {}\n", seed, violation.invariant, violation.detail);
    }
    if (!summary.runs.back().violations.empty()) {
      fmt::print(stderr, "repeat: {}\n",
                 ReproductionCommand(base, seed) +
                     (arguments.signatures.empty() ? "" : " --signatures " + arguments.signatures));
    }
    if (seed == seeds.last) {
      break;
    }
  }
  summary.cost.cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  summary.cost.rss_bytes = PeakRss();
  summary.cost.node_rss_bytes = (summary.cost.rss_bytes - rss_before) / base.nodes;
  summary.cost.signatures_asked = SignatureMemo().asked;
  summary.cost.signatures_computed = SignatureMemo().computed;
  fmt::print("{}", arguments.json ? ToJson(summary) : ToTable(summary));
  return well ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app(kDescription);
  WorldArguments arguments;
  AddFlags(app, arguments);
  WorldOptions options;
  SeedRange seeds;
  try {
    app.parse(argc, argv);
    options = OptionsOf(arguments);
    seeds = ParseSeeds(arguments.seeds);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help
    }
    fmt::print(stderr, "world: {}; see --help\n", error.what());
    return 2;
  }
  return RunWorlds(arguments, options, seeds);
}

}  // namespace
}  // namespace ruvd::test

int main(int argc, char** argv) {
  return ruvd::test::Main(argc, argv);
}
