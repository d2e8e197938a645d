// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a denoising step pays to mix its adapters: the weights of the timestep banks for t, applied
// to trunk and residuals. Prints one JSON line per part.
//
//   build/release/bench/talora --width 512
//
// With --model, this also measures the forward of a window whose mix changes from step to step,
// with trunk and residuals of a rank on all linear layers, beside the base model and the trunk
// alone.

#include "inference/adapter/talora.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/backend/backend.h"
#include "inference/engine/generation.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/model.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Settings {
  size_t width = 512;
  size_t steps = 20'000;
  std::string model;
  int rank = 8;
  int window = 64;
  size_t forwards = 96;
};

std::vector<float> Direction(size_t width, Random& random) {
  std::vector<float> values(width);
  double norm = 0;
  for (float& value : values) {
    value = static_cast<float>(random.Normal());
    norm += static_cast<double>(value) * static_cast<double>(value);
  }
  for (float& value : values) {
    value /= static_cast<float>(std::sqrt(norm));
  }
  return values;
}

// Rank 1 on one square matrix: 4 KiB for a width of 512.
std::shared_ptr<const inference::Adapter> MakeAdapter(const std::string& name, size_t width,
                                                      Random& random) {
  auto adapter = std::make_shared<inference::Adapter>();
  adapter->name = name;
  adapter->version = 1;
  inference::LowRank change{
      .rank = 1, .in = static_cast<int>(width), .out = static_cast<int>(width)};
  change.a = Direction(width, random);
  change.b = Direction(width, random);
  adapter->targets.emplace("blk.0.attn_output.weight", std::move(change));
  return adapter;
}

// Time of each of `count` calls, sorted, in microseconds.
std::vector<double> Timed(size_t count, const std::function<void(size_t)>& work) {
  std::vector<double> micros(count);
  for (size_t i = 0; i < count; ++i) {
    const auto start = SteadyClock::now();
    work(i);
    micros[i] = std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
  }
  std::sort(micros.begin(), micros.end());
  return micros;
}

void Print(const std::string& part, const std::vector<double>& micros) {
  const auto at = [&](double q) {
    return micros[static_cast<size_t>(q * static_cast<double>(micros.size() - 1))];
  };
  std::printf("{\"part\":\"%s\",\"p10_us\":%.2f,\"p50_us\":%.2f,\"p99_us\":%.2f}\n", part.c_str(),
              at(0.1), at(0.5), at(0.99));
}

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) {
    for (const inference::BankStrategy strategy :
         {inference::BankStrategy::kDiscrete, inference::BankStrategy::kLinear,
          inference::BankStrategy::kAttention, inference::BankStrategy::kSoftBoundary}) {
      inference::Talora talora;
      talora.schedule.strategy = strategy;
      talora.trunk = MakeAdapter("trunk", settings.width, random_);
      for (size_t k = 0; k < talora.schedule.banks(); ++k) {
        talora.residuals.push_back(MakeAdapter("residual", settings.width, random_));
      }
      if (strategy == inference::BankStrategy::kAttention) {
        talora.router =
            inference::BankRouter::Start(talora.schedule.banks(), settings.width, 16, 1);
      }
      taloras_.push_back(std::move(talora));
    }
    for (int i = 0; i < 64; ++i) {
      queries_.push_back(Direction(settings.width, random_));
    }
  }

  void Run() {
    for (const inference::Talora& talora : taloras_) {
      const std::string name(inference::BankStrategyName(talora.schedule.strategy));
      Print("mix " + name, Timed(settings_.steps, [&](size_t i) {
              inference::AdapterMix mix;
              AppendMix(talora, TimeOf(i), queries_[i % queries_.size()], 1, &mix);
              sink_ += mix.parts.size();
            }));
    }
    std::printf("{\"kernels\":\"%s\",\"sink\":%zu}\n", inference::Kernels().name, sink_);
  }

 private:
  // The masked share falls step by step, request after request.
  static float TimeOf(size_t i) { return 1.0F - static_cast<float>(i % 16) / 16; }

  const Settings settings_;
  Random random_{1};
  std::vector<inference::Talora> taloras_;
  std::vector<std::vector<float>> queries_;
  size_t sink_ = 0;
};

// A random adapter of this rank on all linear layers.
std::shared_ptr<const inference::Adapter> MakeWideAdapter(const inference::Model& model, int rank,
                                                          uint64_t seed) {
  inference::Adapter adapter =
      inference::StartAdapter(
          model,
          {.rank = rank, .targets = inference::LinearTargets(model, inference::Modules::kAll)},
          nullptr, seed)
          .value();
  Random random(seed);
  for (auto& [target, change] : adapter.targets) {
    for (float& value : change.b) {
      value = static_cast<float>(1e-3 * random.Normal());
    }
  }
  return std::make_shared<const inference::Adapter>(std::move(adapter));
}

void TimeForwards(const Settings& settings, const std::string& name,
                  inference::Transformer& transformer,
                  const inference::Generation::AdapterPolicy& policy) {
  const std::vector<inference::TokenId> tokens(static_cast<size_t>(settings.window), 1);
  inference::ForwardOutput output;
  const auto forward = [&](size_t i) {
    const inference::AdapterMix mix = policy(1.0F - static_cast<float>(i % settings.forwards) /
                                                        static_cast<float>(settings.forwards));
    RUVD_CHECK(transformer.Forward({.tokens = tokens, .adapters = &mix}, &output).ok());
  };
  for (size_t i = 0; i < settings.forwards; i += 8) {  // everything has been prepared once
    forward(i);
  }
  Print("forward " + name, Timed(settings.forwards, forward));
}

void RunForwards(const Settings& settings) {
  const std::shared_ptr<const inference::Model> model =
      inference::Model::Load(settings.model).value();
  const auto transformer =
      inference::DefaultBackend()
          .Load(model, {.precision = inference::Precision::kFast, .runner = SerialRunner()})
          .value();
  inference::Talora talora;
  talora.trunk = MakeWideAdapter(*model, settings.rank, 1);
  for (size_t k = 0; k < talora.schedule.banks(); ++k) {
    talora.residuals.push_back(MakeWideAdapter(*model, settings.rank, 2 + k));
  }
  TimeForwards(settings, "base", *transformer, [](float) { return inference::AdapterMix(); });
  TimeForwards(settings, "trunk", *transformer,
               [&](float) { return inference::AdapterMix{{{talora.trunk, 1.0F}}}; });
  for (const inference::BankStrategy strategy :
       {inference::BankStrategy::kDiscrete, inference::BankStrategy::kLinear,
        inference::BankStrategy::kSoftBoundary}) {
    talora.schedule.strategy = strategy;
    TimeForwards(settings, std::string(inference::BankStrategyName(strategy)), *transformer,
                 [&](float t) {
                   inference::AdapterMix mix;
                   AppendMix(talora, t, {}, 1, &mix);
                   return mix;
                 });
  }
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Settings settings;
  CLI::App app("Adapters of a denoising step: their mix.");
  app.add_option("--width", settings.width, "Of embeddings")->capture_default_str();
  app.add_option("--steps", settings.steps, "Calls that are timed")->capture_default_str();
  app.add_option("--model", settings.model, "GGUF file, for forwards");
  app.add_option("--rank", settings.rank, "Of trunk and residuals there")->capture_default_str();
  app.add_option("--window", settings.window, "Tokens of a forward")->capture_default_str();
  app.add_option("--forwards", settings.forwards, "Of each kind")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  ruvd::bench::Bench(settings).Run();
  if (!settings.model.empty()) {
    ruvd::bench::RunForwards(settings);
  }
  return 0;
}
