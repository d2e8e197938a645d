// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Runs a simulated federation, seed by seed: `world --help`.

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/signature_memo.h"
#include "tests/sim/world.h"
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

struct Arguments {
  size_t nodes = 20;
  std::string seeds = "1..20";
  double hours = WorldOptions().hours;
  std::optional<double> loss;
  std::optional<size_t> items;
  size_t contacts = WorldOptions().contacts;
  std::vector<std::string> byzantine;
  std::optional<std::string> faults;
  std::optional<bool> established;
  std::optional<bool> learning;
  std::string signatures;
  bool json = false;
};

template <typename Kinds, typename Name>
std::string NamesOf(const Kinds& kinds, Name name) {
  std::string list;
  for (const auto kind : kinds) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", name(kind));
  }
  return list;
}

struct SeedRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

SeedRange ParseSeeds(const std::string& text) {
  SeedRange range;
  const size_t dots = text.find("..");
  const std::string first = text.substr(0, dots);
  const std::string last = dots == std::string::npos ? first : text.substr(dots + 2);
  if (!CLI::detail::lexical_cast(first, range.first) ||
      !CLI::detail::lexical_cast(last, range.last) || range.first > range.last) {
    throw CLI::ValidationError("--seeds", "'" + text + "' is not A..B with A at most B");
  }
  return range;
}

std::vector<ByzantineShare> ParseByzantine(const std::vector<std::string>& texts) {
  std::vector<ByzantineShare> shares;
  double sum = 0;
  for (const std::string& text : texts) {
    if (text == "none" && texts.size() == 1) {
      return {};
    }
    const size_t colon = text.find(':');
    const auto kind = AdversaryByName(text.substr(0, colon));
    ByzantineShare share;
    if (!kind || colon == std::string::npos ||
        !CLI::detail::lexical_cast(text.substr(colon + 1), share.share) || !(share.share >= 0)) {
      throw CLI::ValidationError("--byzantine",
                                 "'" + text + "' is not none or KIND:SHARE, where KIND is one of " +
                                     NamesOf(AllAdversaries(), AdversaryName));
    }
    share.kind = *kind;
    sum += share.share;
    shares.push_back(share);
  }
  if (sum >= 0.5) {
    throw CLI::ValidationError("--byzantine", "shares must stay below 0.5 in all");
  }
  return shares;
}

std::set<Fault> ParseFaults(const std::string& text) {
  std::set<Fault> faults;
  if (text == "none") {
    return faults;
  }
  if (text == "all") {
    return {AllFaults().begin(), AllFaults().end()};
  }
  for (const std::string& name : CLI::detail::split(text, ',')) {
    const auto fault = FaultByName(name);
    if (!fault) {
      throw CLI::ValidationError(
          "--faults", "'" + name + "' is none of all, none, " + NamesOf(AllFaults(), FaultName));
    }
    faults.insert(*fault);
  }
  return faults;
}

void AddFlags(CLI::App& app, Arguments& arguments) {
  app.add_option("--nodes", arguments.nodes, "Nodes of each world")
      ->check(CLI::Range(2, 20'000))
      ->capture_default_str();
  app.add_option("--seeds", arguments.seeds, "Seeds A..B, one world each")->capture_default_str();
  app.add_option("--hours", arguments.hours, "Simulated hours of the phase with faults")
      ->check(CLI::Range(0.001, 240.0))
      ->capture_default_str();
  app.add_option("--loss", arguments.loss,
                 "Chance of a network segment to be lost; picked from 0, 0.01, 0.05, 0.2 by seed")
      ->check(CLI::Range(0.0, 0.5));
  app.add_option("--byzantine", arguments.byzantine,
                 "none, or KIND:SHARE of the nodes, may be repeated; up to two picked by seed. "
                 "Kinds: " +
                     NamesOf(AllAdversaries(), AdversaryName));
  app.add_option("--faults", arguments.faults,
                 "all, none or a list with commas; half of them picked by seed. Faults: " +
                     NamesOf(AllFaults(), FaultName));
  app.add_option("--items", arguments.items,
                 "Updates and patterns that honest nodes offer; two a node, at most 40")
      ->check(CLI::Range(0, 4000));
  app.add_option("--contacts", arguments.contacts, "Addresses that each node begins with")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_flag("--established,!--no-established", arguments.established,
               "Nodes know each other from before, in place of finding each other first; if not "
               "chosen, above 1000 nodes");
  app.add_flag("--learning,!--no-learning", arguments.learning,
               "Nodes learn together; a quarter of all seeds if not chosen, and always where some "
               "lie about updates");
  app.add_option("--signatures", arguments.signatures,
                 "real, or simulated by a fast keyed hash; real up to 100 nodes if not chosen")
      ->check(CLI::IsMember({"real", "simulated"}));
  app.add_flag("--json", arguments.json, "One JSON object instead of a table");
}

// Above, telling everybody of everybody takes longer than the rest: n^2 records.
constexpr size_t kMaxNodesThatMeet = 1000;

WorldOptions OptionsOf(const Arguments& arguments) {
  WorldOptions options;
  options.nodes = arguments.nodes;
  options.hours = arguments.hours;
  options.loss = arguments.loss;
  options.items = arguments.items;
  options.learning = arguments.learning;
  options.contacts = arguments.contacts;
  options.established = arguments.established.value_or(arguments.nodes > kMaxNodesThatMeet);
  if (!arguments.byzantine.empty()) {
    options.byzantine = ParseByzantine(arguments.byzantine);
  }
  if (arguments.faults) {
    options.faults = ParseFaults(*arguments.faults);
  }
  return options;
}

uint64_t PeakRss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// Above, libsodium's take more time than everything else.
constexpr size_t kMaxNodesWithRealSignatures = 100;

bool WithSimulatedSignatures(const Arguments& arguments) {
  return arguments.signatures.empty() ? arguments.nodes > kMaxNodesWithRealSignatures
                                      : arguments.signatures == "simulated";
}

int RunWorlds(const Arguments& arguments, const WorldOptions& base, const SeedRange& seeds) {
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
  Arguments arguments;
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
