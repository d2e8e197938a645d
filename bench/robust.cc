// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What attacks do to aggregation rules, and what the rules cost: `robust --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "bench/update_attacks.h"
#include "federation/daf/robust_rules.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Attacks against the aggregation rules of federation/daf. Honest updates are a common signal "
    "of\n"
    "norm 1 plus heterogeneity of norm 0.5 in random directions, clipped to norm 1; liars know "
    "all\n"
    "of them. Printed: distance of the rule's result from the signal, mean over repeats. Rules "
    "that\n"
    "take a number of liars are told the true one. Self-clip stands at the first honest node.\n"
    "Then what each rule costs for updates of --cost-dimension values on one core, alternating "
    "with\n"
    "a floor: reading the updates once at the speed at which memory can be read; the best of\n"
    "--rounds.";

using Vectors = std::vector<std::vector<float>>;
using Seconds = std::chrono::duration<double>;

struct Arguments {
  size_t nodes = 20;
  std::vector<size_t> liars = {5, 8};
  size_t dimension = 4096;
  int repeats = 8;
  double heterogeneity = 0.5;
  double noise = 0;
  std::vector<size_t> cost_nodes = {16, 64};
  size_t cost_dimension = 131'072;
  int rounds = 20;
};

struct NamedRule {
  std::string name;
  std::unique_ptr<federation::AggregationRule> rule;
};

// `faulty` is the share of liars that the rules are told.
std::vector<NamedRule> RulesFor(double faulty) {
  std::vector<NamedRule> rules;
  rules.push_back({"mean", std::make_unique<federation::MeanRule>()});
  rules.push_back({"median", std::make_unique<federation::MedianRule>()});
  rules.push_back({"trimmed", std::make_unique<federation::TrimmedMean>(faulty)});
  rules.push_back({"Multi-Krum", std::make_unique<federation::MultiKrumRule>(faulty)});
  rules.push_back({"geometric", std::make_unique<federation::GeometricMedianRule>()});
  rules.push_back({"self-clip", std::make_unique<federation::SelfClipRule>()});
  rules.push_back({"NNM+trim", std::make_unique<federation::NearestNeighbourRule>(faulty)});
  rules.push_back({"filtered", std::make_unique<federation::FilteredMeanRule>(faulty)});
  return rules;
}

std::vector<std::span<const float>> SpansOf(const Vectors& vectors) {
  return {vectors.begin(), vectors.end()};
}

std::vector<float> RandomDirection(size_t length, double norm, Random& random) {
  std::vector<float> vector(length);
  for (float& v : vector) {
    v = static_cast<float>(norm / std::sqrt(static_cast<double>(length)) * random.Normal());
  }
  return vector;
}

double NormOfVector(const std::vector<float>& vector) {
  double sum = 0;
  for (const float v : vector) {
    sum += double{v} * v;
  }
  return std::sqrt(sum);
}

Vectors HonestUpdates(const Arguments& arguments, const std::vector<float>& signal, size_t count,
                      Random& random) {
  Vectors updates;
  for (size_t node = 0; node < count; ++node) {
    std::vector<float> update = RandomDirection(signal.size(), arguments.heterogeneity, random);
    for (size_t i = 0; i < update.size(); ++i) {
      update[i] += signal[i];
    }
    const double scale = std::min(1.0, 1.0 / NormOfVector(update));
    for (float& v : update) {
      v = static_cast<float>(scale * double{v} + arguments.noise * random.Normal());
    }
    updates.push_back(std::move(update));
  }
  return updates;
}

std::vector<double> Errors(const Arguments& arguments, UpdateAttack attack, size_t liars) {
  const auto rules = RulesFor(static_cast<double>(liars) / static_cast<double>(arguments.nodes));
  std::vector<double> errors(rules.size());
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
    Random random(static_cast<uint64_t>(repeat) + 1);
    std::vector<float> signal = RandomDirection(arguments.dimension, 1, random);
    const double norm = NormOfVector(signal);
    for (float& v : signal) {
      v = static_cast<float>(double{v} / norm);
    }
    Vectors updates = HonestUpdates(arguments, signal, arguments.nodes - liars, random);
    for (auto& lie : Attack(attack, updates, liars, random)) {
      updates.push_back(std::move(lie));
    }
    const auto spans = SpansOf(updates);
    std::vector<float> result(arguments.dimension);
    for (size_t rule = 0; rule < rules.size(); ++rule) {
      rules[rule].rule->Combine({.updates = spans, .own = 0}, result);
      for (size_t i = 0; i < result.size(); ++i) {
        result[i] -= signal[i];
      }
      errors[rule] += NormOfVector(result) / arguments.repeats;
    }
  }
  return errors;
}

void PrintErrors(const Arguments& arguments) {
  fmt::print("error of {} nodes, {} values, heterogeneity {}, noise {} per value, {} repeats\n\n",
             arguments.nodes, arguments.dimension, arguments.heterogeneity, arguments.noise,
             arguments.repeats);
  fmt::print("| attack | liars |");
  for (const NamedRule& rule : RulesFor(federation::kFaultyShare)) {
    fmt::print(" {} |", rule.name);
  }
  fmt::print("\n|---|---|---|---|---|---|---|---|---|\n");
  for (const size_t liars : arguments.liars) {
    for (const UpdateAttack attack : AllAttacks()) {
      fmt::print("| {} | {} |", AttackName(attack), liars);
      for (const double error : Errors(arguments, attack, liars)) {
        fmt::print(" {:.3f} |", error);
      }
      fmt::print("\n");
    }
  }
}

template <typename Work>
double SecondsOf(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return Seconds(std::chrono::steady_clock::now() - begin).count();
}

// Reads floats at the speed of memory; returns something that depends on all of them.
float ReadAll(const std::vector<float>& values) {
  constexpr size_t kLanes = 64;
  std::array<float, kLanes> lanes{};
  for (size_t i = 0; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += values[i + lane];
    }
  }
  float sum = 0;
  for (const float lane : lanes) {
    sum += lane;
  }
  return sum;
}

// The best times of the work and of reading `bytes` from memory, measured in turns.
struct Cost {
  double work = 1e9;
  double floor = 1e9;
};

template <typename Work>
Cost Alternate(const Arguments& arguments, double bytes, const std::vector<float>& memory,
               const Work& work) {
  Cost cost;
  volatile float sink = 0;
  for (int round = 0; round < arguments.rounds; ++round) {
    const double read = SecondsOf([&] { sink = ReadAll(memory); });
    cost.floor =
        std::min(cost.floor, read * bytes / static_cast<double>(memory.size() * sizeof(float)));
    cost.work = std::min(cost.work, SecondsOf(work));
  }
  return cost;
}

void PrintCost(const std::string& name, size_t nodes, const Cost& cost) {
  fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.1f} |\n", name, nodes, cost.work * 1e3,
             cost.floor * 1e3, cost.work / cost.floor);
}

void PrintCosts(const Arguments& arguments) {
  // This is larger than any cache.
  const std::vector<float> memory(size_t{64} << 20, 1.0F);
  fmt::print("\nms for updates of {} values, best of {} in turns with the floor\n\n",
             arguments.cost_dimension, arguments.rounds);
  fmt::print("| rule | updates | ms | read once | times the floor |\n|---|---|---|---|---|\n");
  for (const size_t nodes : arguments.cost_nodes) {
    Random random(1);
    Vectors updates;
    for (size_t node = 0; node < nodes; ++node) {
      updates.push_back(RandomDirection(arguments.cost_dimension, 1, random));
    }
    const auto spans = SpansOf(updates);
    std::vector<float> result(arguments.cost_dimension);
    const double bytes = static_cast<double>(nodes * arguments.cost_dimension * sizeof(float));
    for (const NamedRule& rule : RulesFor(federation::kFaultyShare)) {
      PrintCost(rule.name, nodes, Alternate(arguments, bytes, memory, [&] {
                  rule.rule->Combine({.updates = spans, .own = 0}, result);
                }));
    }
  }
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  app.add_option("--nodes", arguments.nodes)->check(CLI::Range(3, 256));
  app.add_option("--liars", arguments.liars, "of them")->delimiter(',');
  app.add_option("--dimension", arguments.dimension)->check(CLI::Range(1, 1 << 20));
  app.add_option("--repeats", arguments.repeats)->check(CLI::Range(1, 1000));
  app.add_option("--heterogeneity", arguments.heterogeneity)->check(CLI::Range(0.0, 100.0));
  app.add_option("--noise", arguments.noise, "standard deviation in every honest value");
  app.add_option("--cost-nodes", arguments.cost_nodes, "updates whose combination is timed")
      ->delimiter(',')
      ->check(CLI::Range(2, 256));
  app.add_option("--cost-dimension", arguments.cost_dimension)->check(CLI::Range(1, 1 << 24));
  app.add_option("--rounds", arguments.rounds, "0: no costs")->check(CLI::Range(0, 10'000));
  CLI11_PARSE(app, argc, argv);
  for (const size_t liars : arguments.liars) {
    if (2 * liars >= arguments.nodes) {
      fmt::print(stderr, "{} liars of {} nodes: give fewer than half\n", liars, arguments.nodes);
      return 1;
    }
  }
  ruvd::bench::PrintErrors(arguments);
  if (arguments.rounds > 0) {
    ruvd::bench::PrintCosts(arguments);
  }
  return 0;
}
