// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// A member that attacks the real nodes of its cluster, for tests/campaign/hostile.py.
//
//   ruvd join ADDRESS --token TOKEN --data-dir DIR --name mallory
//   insider --data-dir DIR --model MODEL.gguf --victim ADDRESS --attack spammer --seconds 20

#include <fmt/format.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigtimedwait is POSIX

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "privacy/sodium.h"
#include "tests/campaign/insider_host.h"
#include "tests/sim/adversary.h"

namespace ruvd::campaign {
namespace {

constexpr int kFailed = 1;

// Returns the attacks that need no rounds; liars in what nodes learn need the simulated world,
// which knows all honest contributions (tests/sim).
std::vector<std::string> AttackNames() {
  std::vector<std::string> names;
  for (const test::AdversaryKind kind : test::AllAdversaries()) {
    if (!test::LiesAboutLearning(kind)) {
      names.emplace_back(test::AdversaryName(kind));
    }
  }
  return names;
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

void PrintCounts(const std::string& attack, const InsiderCounts& counts) {
  const nlohmann::json line = {{"attack", attack},
                               {"frames_sent", counts.frames_sent},
                               {"bytes_sent", counts.bytes_sent},
                               {"frames_dropped", counts.frames_dropped},
                               {"not_frames", counts.not_frames},
                               {"items_signed", counts.items_signed},
                               {"patterns_offered", counts.patterns_offered},
                               {"patterns_refused", counts.patterns_refused},
                               {"dials", counts.dials},
                               {"dials_failed", counts.dials_failed},
                               {"links_opened", counts.links_opened},
                               {"links_closed", counts.links_closed},
                               {"links", counts.links},
                               {"members_alive", counts.members_alive},
                               {"own_closes", counts.own_closes}};
  fmt::print("{}\n", line.dump());
}

int Run(const InsiderOptions& options, const std::string& attack, int seconds) {
  privacy::InitSodium();
  const sigset_t signals = StopSignals();
  // They are blocked before any thread starts, so that only sigtimedwait gets them.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  auto host = InsiderHost::Start(options, test::MakeAdversary(*test::AdversaryByName(attack)));
  if (!host.ok()) {
    fmt::print(stderr, "insider: {} [{}]\n", MessageOf(host.status()), ReasonOf(host.status()));
    return kFailed;
  }
  fmt::print("ready federation={}\n", (*host)->address());
  std::fflush(stdout);
  const timespec time{.tv_sec = seconds, .tv_nsec = 0};
  sigtimedwait(&signals, nullptr, &time);
  PrintCounts(attack, (*host)->Counts());
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "A member with a valid certificate that attacks the nodes of its cluster over real links. "
      "Prints `ready`, and what it did as one line of JSON after --seconds or a SIGTERM. Members "
      "that lie about what nodes learn (in contributions, states and shares of masked sums) attack "
      "in the simulated world only (build/release/tests/sim/world --byzantine).");
  InsiderOptions options;
  options.listen = "127.0.0.1:0";
  std::string attack;
  int seconds = 20;
  app.add_option("--data-dir", options.data_dir, "Folder that `ruvd join` made")->required();
  app.add_option("--model", options.model, "Model of the cluster (GGUF)")->required();
  app.add_option("--victim", options.victims, "HOST:PORT of a node's link service; may be repeated")
      ->required();
  app.add_option("--listen", options.listen, "HOST:PORT of its own link service")
      ->capture_default_str();
  app.add_option("--attack", attack, "What it does; tests/sim/adversary.h explains each")
      ->required()
      ->check(CLI::IsMember(AttackNames()));
  app.add_option("--seconds", seconds, "Length of the attack")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of its choices")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return Run(options, attack, seconds);
}

}  // namespace
}  // namespace ruvd::campaign

int main(int argc, char** argv) {
  return ruvd::campaign::Main(argc, argv);
}
