// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/world_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <set>

namespace ruvd::test {
namespace {

// In larger worlds, telling all nodes about all others takes longer than the rest: n^2 records.
constexpr size_t kMaxNodesThatMeet = 1000;

// In larger worlds libsodium's signatures take more time than everything else.
constexpr size_t kMaxNodesWithRealSignatures = 100;

template <typename Kinds, typename Name>
std::string NamesOf(const Kinds& kinds, Name name) {
  std::string list;
  for (const auto kind : kinds) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", name(kind));
  }
  return list;
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

// This is not add_flag, because CLI11 sets an optional flag that has a negation to false when
// neither is passed.
void AddChoice(CLI::App& app, const std::string& names, std::optional<bool>& value,
               const std::string& help) {
  app.add_flag_function(names, [&value](int64_t count) { value = count > 0; }, help);
}

}  // namespace

void AddFlags(CLI::App& app, WorldArguments& arguments) {
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
  app.add_option("--undialable", arguments.undialable,
                 "Share of the nodes that nobody can dial, as behind a firewall")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  AddChoice(app, "--established,!--no-established", arguments.established,
            "Nodes know each other from before, in place of finding each other first; if not "
            "chosen, above 1000 nodes");
  AddChoice(app, "--learning,!--no-learning", arguments.learning,
            "Nodes learn together; a quarter of all seeds if not chosen, and always where some "
            "lie about updates");
  AddChoice(app, "--masked,!--no-masked", arguments.masked,
            "Nodes that learn add up their gradients under masks; a third of the seeds that learn "
            "if not chosen, and always where some lie in their shares");
  app.add_option("--signatures", arguments.signatures,
                 "real, or simulated by a fast keyed hash; real up to 100 nodes if not chosen")
      ->check(CLI::IsMember({"real", "simulated"}));
  app.add_flag("--json", arguments.json, "One JSON object instead of a table");
}

WorldOptions OptionsOf(const WorldArguments& arguments) {
  WorldOptions options;
  options.nodes = arguments.nodes;
  options.hours = arguments.hours;
  options.loss = arguments.loss;
  options.items = arguments.items;
  options.learning = arguments.learning;
  options.masked = arguments.masked;
  options.contacts = arguments.contacts;
  options.undialable = arguments.undialable;
  options.established = arguments.established.value_or(arguments.nodes > kMaxNodesThatMeet);
  if (!arguments.byzantine.empty()) {
    options.byzantine = ParseByzantine(arguments.byzantine);
  }
  if (arguments.faults) {
    options.faults = ParseFaults(*arguments.faults);
  }
  return options;
}

bool WithSimulatedSignatures(const WorldArguments& arguments) {
  return arguments.signatures.empty() ? arguments.nodes > kMaxNodesWithRealSignatures
                                      : arguments.signatures == "simulated";
}

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

}  // namespace ruvd::test
