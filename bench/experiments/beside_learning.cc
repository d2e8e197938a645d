// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// How much longer requests take while the node learns: `beside_learning --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/served_node.h"
#include "bench/experiments/taught_node.h"
#include "inference/model/model.h"
#include "node/terminal/period.h"
#include "ruvd/cluster/v1/cluster.pb.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Starts a node, teaches it pieces of a text, and sends requests at random times (a Poisson\n"
    "process of --rate), in alternating blocks: with learning paused, and while background and "
    "deep\n"
    "loop learn without end. Latencies count from the time at which a request was due. Ratios are "
    "of\n"
    "percentiles with learning to those without; intervals: 95 % bootstrap over pairs of blocks.\n"
    "With --rounds the node contributes to rounds of its cluster instead, one after the other.\n"
    "The verdict asks for a 99th percentile of at most 1.2 times that without learning.";

struct Arguments {
  std::string model;
  std::string text;
  std::string out;
  size_t lessons = 96;
  int blocks = 6;  // of each kind
  double seconds = 30;
  double rate = 1;
  int tokens = 32;
  int threads = 1;
  std::vector<std::string> settings;
  bool rounds = false;
};

double SecondsSince(TimePoint begun) {
  return std::chrono::duration<double>(SystemClock().Now() - begun).count();
}

// Latencies of a block in seconds.
absl::StatusOr<std::vector<double>> RunBlock(ServedNode& node, const std::vector<TextPair>& pairs,
                                             const Arguments& arguments, Random& random) {
  std::vector<double> latencies;
  const TimePoint begun = SystemClock().Now();
  double due = 0;
  for (;;) {
    due += -std::log(1 - random.Uniform()) / arguments.rate;
    if (due > arguments.seconds) {
      return latencies;
    }
    const double early = due - SecondsSince(begun);
    if (early > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(early));
    }
    inference::v1::GenerateRequest request;
    request.set_prompt(pairs[random.Below(pairs.size())].prompt);
    request.mutable_sampling()->set_max_tokens(static_cast<uint32_t>(arguments.tokens));
    request.mutable_sampling()->set_ignore_end_of_text(true);
    RETURN_IF_ERROR(node.Generate(request).status());
    latencies.push_back(SecondsSince(begun) - due);
  }
}

// Runs both loops, one round after the other, until the object is destroyed; or only lets the node
// contribute to the rounds of its cluster. A round ends with an error when learning is paused, and
// that is how rounds are ended here.
class Learning {
 public:
  Learning(ServedNode& node, bool loops) : node_(node) {
    if (!loops) {
      return;
    }
    background_ = std::thread([this] {
      while (!ended_) {
        rounds_ += node_.RunBackground(true).ok() ? 1 : 0;
      }
    });
    deep_ = std::thread([this] {
      while (!ended_) {
        node_.RunDeep().status().IgnoreError();
      }
    });
  }
  ~Learning() {
    ended_ = true;
    node_.Pause().IgnoreError();
    if (background_.joinable()) {
      background_.join();
      deep_.join();
    }
  }
  Learning(const Learning&) = delete;
  Learning& operator=(const Learning&) = delete;

 private:
  ServedNode& node_;
  std::atomic<bool> ended_{false};
  std::atomic<int> rounds_{0};
  std::thread background_;
  std::thread deep_;
};

// One pair of blocks for each entry.
struct Latencies {
  uint64_t deep_steps = 0;     // that the deep loop had made by the end
  uint64_t contributions = 0;  // to rounds, at most one counted in each block
  std::vector<std::vector<double>> without;
  std::vector<std::vector<double>> with;
};

double Percentile(const std::vector<std::vector<double>>& blocks, const std::vector<size_t>& chosen,
                  double share) {
  std::vector<double> all;
  for (const size_t block : chosen) {
    all.insert(all.end(), blocks[block].begin(), blocks[block].end());
  }
  if (all.empty()) {
    return 0;
  }
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size() - 1) + 0.5);
  std::nth_element(all.begin(), all.begin() + rank, all.end());
  return all[static_cast<size_t>(rank)];
}

Interval RatioOf(const Latencies& latencies, double share) {
  std::vector<size_t> pairs(latencies.with.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = i;
  }
  const auto ratio = [&](const std::vector<size_t>& chosen) {
    return Percentile(latencies.with, chosen, share) /
           std::max(1e-9, Percentile(latencies.without, chosen, share));
  };
  constexpr int kResamples = 2000;
  Random random(1);
  std::vector<double> ratios;
  for (int i = 0; i < kResamples; ++i) {
    std::vector<size_t> drawn(pairs.size());
    std::ranges::generate(drawn, [&] { return random.Below(pairs.size()); });
    ratios.push_back(ratio(drawn));
  }
  std::ranges::sort(ratios);
  constexpr double kTail = 0.025;
  const auto at = [&](double place) { return ratios[static_cast<size_t>(place * kResamples)]; };
  return {.mean = ratio(pairs), .low = at(kTail), .high = at(1 - kTail)};
}

absl::StatusOr<Latencies> Measure(ServedNode& node, const std::vector<TextPair>& pairs,
                                  const Arguments& arguments) {
  Latencies latencies;
  uint64_t last_round = 0;
  Random random(7);
  for (int block = 0; block < arguments.blocks; ++block) {
    const uint64_t seed = random.Next();
    const auto run = [&](bool learning) -> absl::Status {
      Random times(seed);  // both kinds get the same requests at the same times
      ASSIGN_OR_RETURN(std::vector<double> own, RunBlock(node, pairs, arguments, times));
      (learning ? latencies.with : latencies.without).push_back(std::move(own));
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(run(false));
    RETURN_IF_ERROR(node.Resume());
    const Learning learning(node, !arguments.rounds);
    RETURN_IF_ERROR(run(true));
    ASSIGN_OR_RETURN(const learning::v1::LearningStatus status, node.Status());
    latencies.deep_steps = status.deep().step();
    if (arguments.rounds) {
      ASSIGN_OR_RETURN(const cluster::v1::RoundsStatus own, node.Rounds());
      latencies.contributions += own.last_round() > last_round ? 1 : 0;
      last_round = own.last_round();
    }
    fmt::print(stderr, "block {}: {} requests, twice\n", block + 1, latencies.with.back().size());
  }
  return latencies;
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  std::vector<std::string> settings = arguments.settings;
  if (arguments.rounds) {
    settings.insert(settings.begin(), {"federation.enabled=true", "federation.round_seconds=5"});
  }
  ASSIGN_OR_RETURN(const config::NodeConfig config,
                   ConfigOf(arguments.model, arguments.threads, settings));
  node::NodeTuning tuning;
  tuning.deep.steps = 10'000;  // a deep round never ends by itself
  std::vector<TextPair> pairs;
  {
    ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                     inference::Model::Load(arguments.model));
    ASSIGN_OR_RETURN(const Crops crops,
                     ReadCrops(arguments.text, model->tokenizer(), {.tokens = 128, .window = 64},
                               arguments.lessons));
    pairs = PairsOf(crops, model->tokenizer(), nullptr);
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ServedNode> node, ServedNode::Start(config, tuning));
  RETURN_IF_ERROR(node->Pause());
  if (arguments.rounds) {
    std::string text;
    for (const TextPair& pair : pairs) {
      text += pair.prompt + pair.completion + "\n\n";
    }
    RETURN_IF_ERROR(node->ContributeFrom(text));
  } else {
    RETURN_IF_ERROR(TeachAll(*node, pairs));
  }
  ASSIGN_OR_RETURN(const Latencies latencies, Measure(*node, pairs, arguments));
  ASSIGN_OR_RETURN(const learning::v1::LearningStatus status, node->Status());
  nlohmann::json out = {{"experiment", "beside_learning"},
                        {"model", std::filesystem::path(arguments.model).filename().string()},
                        {"deep_steps", latencies.deep_steps},
                        {"rounds", status.rounds()},
                        {"contributions", latencies.contributions},
                        {"seconds_learning_waited", cli::SecondsOf(status.paused_time())},
                        {"seconds_learning", arguments.seconds * arguments.blocks}};
  size_t requests = 0;
  for (const auto& block : latencies.with) {
    requests += block.size();
  }
  fmt::print(
      "{} requests of {} tokens with learning and as many without; meanwhile {} steps of the deep "
      "loop, {} background rounds, and contributions to rounds of the cluster in {} of {} blocks; "
      "learning waited {:.0f} of {:.0f} s\n",
      requests, arguments.tokens, latencies.deep_steps, status.rounds(), latencies.contributions,
      arguments.blocks, cli::SecondsOf(status.paused_time()), arguments.seconds * arguments.blocks);
  std::vector<size_t> all(latencies.with.size());
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = i;
  }
  for (const auto& [name, share] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}) {
    const Interval ratio = RatioOf(latencies, share);
    const double without = Percentile(latencies.without, all, share);
    const double with = Percentile(latencies.with, all, share);
    fmt::print("{}: {:.0f} ms without, {:.0f} ms with learning, ratio {:.2f} ({:.2f} to {:.2f})\n",
               name, 1e3 * without, 1e3 * with, ratio.mean, ratio.low, ratio.high);
    out[name] = {{"without_s", without}, {"with_s", with}, {"ratio", ToJson(ratio)}};
  }
  constexpr double kMost = 1.2;
  out["verdict"] = out["p99"]["ratio"]["mean"].get<double>() <= kMost ? "met" : "NOT met";
  fmt::print("verdict: {}\n", out["verdict"].get<std::string>());
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  app.add_option("--model", arguments.model, "GGUF file")->required();
  app.add_option("--text", arguments.text, "what is taught and asked for, .jsonl.zst")->required();
  app.add_option("--out", arguments.out, "file of the results, JSON");
  app.add_option("--lessons", arguments.lessons, "pieces that are taught")
      ->check(CLI::Range(16, 4096));
  app.add_option("--blocks", arguments.blocks, "of each kind")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", arguments.seconds, "of a block")->check(CLI::Range(1, 3600));
  app.add_option("--rate", arguments.rate, "requests a second")->check(CLI::Range(0.01, 1000.0));
  app.add_option("--tokens", arguments.tokens, "of a completion")->check(CLI::Range(1, 256));
  app.add_option("--threads", arguments.threads, "inference.threads of the node")
      ->check(CLI::Range(1, 64));
  app.add_flag("--rounds", arguments.rounds,
               "contribute to rounds of the cluster instead of learning for this node alone");
  app.add_option("--set", arguments.settings, "KEY=VALUE of the node's configuration");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = ruvd::bench::Run(arguments);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
  }
  return status.ok() ? 0 : 1;
}
