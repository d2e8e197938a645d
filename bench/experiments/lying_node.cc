// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd` as a member that lies in what it gives to rounds, for `federate_nodes --attack`:
// lying_node ATTACK [the arguments of ruvd]. Everything else of the node is what ships.

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/experiments/contribution_lies.h"
#include "bench/experiments/federate_settings.h"
#include "node/process/node.h"
#include "node/process/node_tuning.h"
#include "node/program/program.h"

namespace ruvd::bench {
namespace {

constexpr int kBadUsage = 2;
constexpr uint64_t kSeed = 1;

int Main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: lying_node ATTACK [the arguments of ruvd]\n");
    return kBadUsage;
  }
  const absl::StatusOr<UpdateAttack> attack = AttackOf(argv[1]);
  if (!attack.ok() || *attack == UpdateAttack::kNone || *attack == UpdateAttack::kCopies) {
    fmt::print(stderr, "lying_node: {}\n",
               attack.ok() ? "none and copies are no lies" : MessageOf(attack.status()));
    return kBadUsage;
  }
  node::NodeTuning tuning;
  tuning.edit_contribution = [liar = std::make_shared<LyingMember>(*attack, kSeed)](
                                 const federation::Contribution& own,
                                 const federation::ClusterRounds& rounds) {
    return liar->Lie(own, rounds);
  };
  cli::CommandContext context{.out = std::cout, .err = std::cerr};
  return node::RunProgram(std::vector<std::string>(argv + 2, argv + argc), context,
                          [&tuning](const config::NodeConfig& config) {
                            return node::Node::StartTuned(config, tuning);
                          });
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  return ruvd::bench::Main(argc, argv);
}
