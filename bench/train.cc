// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Measures training steps: a LoRA on every linear layer from a layer on, masked diffusion on random
// text, AdamW. `train --help` says how; bench/train_torch.py runs it alternately with the same step
// in PyTorch.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "bench/meter.h"
#include "bench/peak_rates.h"
#include "inference/train/adapter_changes.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"

namespace ruvd::bench {
namespace {

using inference::train::Linear;
using inference::train::NetworkShape;
using inference::train::Site;

constexpr char kFooter[] =
    "Prints one JSON line: ms_wall and ms_cpu of a step (the best; medians beside them), gflops "
    "(two\n"
    "operations for each multiply-add that a step has to do, per CPU time: a rate per busy core),\n"
    "tokens_per_s (wall); f32_peak of one core and the share of it that gflops is; peak_mb, the "
    "most\n"
    "memory the process ever held, and weights_mb, the model file.";

struct Arguments {
  std::string model;
  int sequences = 16;
  int tokens = 128;
  int rank = 8;
  int threads = 2;
  int steps = 5;
  int first_layer = 0;
  int memory_mb = 192;
  inference::train::TrainingPrecision precision = inference::train::TrainingPrecision::kMixed;
};

// Counts two operations for each multiply-add of a step: the frozen products forwards, and
// backwards above the first changed layer; the changes' products; attention's two products forwards
// and four backwards; the head for the masked rows. What is computed again to save memory does not
// count.
double StepFlops(const NetworkShape& shape, const Arguments& arguments,
                 std::span<const inference::train::TrainingSequence> batch) {
  double rows = 0;
  double pairs = 0;
  double predictions = 0;
  for (const inference::train::TrainingSequence& sequence : batch) {
    const auto tokens = static_cast<double>(sequence.tokens.size());
    rows += tokens;
    pairs += tokens * tokens;
    predictions += static_cast<double>(sequence.predictions.size());
  }
  const auto rank = static_cast<double>(arguments.rank);
  const auto product = [&](const Site& site, bool changed, bool back) {
    const auto in = static_cast<double>(shape.In(site.linear));
    const auto out = static_cast<double>(shape.Out(site.linear));
    const double change = changed ? 2 * rank * (in + out) + (back ? rank * in : 0) + rank * out : 0;
    return in * out * (back ? 2 : 1) + change;
  };
  double sum = 0;
  const auto first = static_cast<size_t>(arguments.first_layer);
  for (size_t layer = 0; layer < shape.layers; ++layer) {
    for (size_t i = 0; i < inference::train::kLayerLinears; ++i) {
      const auto linear = static_cast<Linear>(i);
      const bool back = layer > first || (layer == first && linear > Linear::kValue);
      // The last layer runs for the masked rows only, except for its keys and values.
      const bool narrow =
          layer + 1 == shape.layers && linear != Linear::kKey && linear != Linear::kValue;
      sum += product({layer, linear}, layer >= first, back) * (narrow ? predictions : rows);
    }
    const double share = layer + 1 == shape.layers ? predictions / rows : 1.0;
    sum += pairs * static_cast<double>(shape.q_width()) * (layer >= first ? 6 : 2) * share;
  }
  sum += product({shape.layers, Linear::kHead}, true, true) * predictions;
  return 2 * sum;
}

std::vector<inference::TrainingExample> RandomTexts(const inference::Model& model,
                                                    const Arguments& arguments) {
  Random random(3);
  std::vector<inference::TrainingExample> texts(static_cast<size_t>(arguments.sequences));
  for (inference::TrainingExample& text : texts) {
    for (int i = 0; i < arguments.tokens; ++i) {
      text.completion.push_back(static_cast<inference::TokenId>(
          random.Below(static_cast<uint64_t>(model.config().vocabulary) / 2)));
    }
  }
  return texts;
}

double PeakMegabytes() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word == "VmHWM:") {
      double kilobytes = 0;
      file >> kilobytes;
      return kilobytes / 1024;
    }
  }
  return 0;
}

double FileMegabytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  return static_cast<double>(file.tellg()) / 1048576.0;
}

absl::Status Measure(const Arguments& arguments) {
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  ASSIGN_OR_RETURN(const auto weights, inference::train::ModelWeights::Create(
                                           model, nullptr, runner, arguments.precision));
  inference::train::ChangeSet<float> changes(weights->shape());
  RETURN_IF_ERROR(inference::train::AddLoras(
      *model,
      inference::train::SitesFrom(model->config(), static_cast<size_t>(arguments.first_layer),
                                  true),
      arguments.rank, false, 1, &changes));
  ASSIGN_OR_RETURN(const auto objective,
                   inference::train::MakeObjective(*model, RandomTexts(*model, arguments),
                                                   {.batch = arguments.sequences, .seed = 2}));
  inference::train::TrainingRun run(
      {.weights = weights.get(),
       .changes = &changes,
       .objective = objective.get(),
       .held_out = {},
       .runner = &runner},
      {.steps = arguments.steps + 1,
       .pass = {.memory_bytes = static_cast<uint64_t>(arguments.memory_mb) << 20}});
  Measurement measurement;
  for (int step = 0; step <= arguments.steps; ++step) {  // the first one warms up
    const Meter meter;
    const auto target = static_cast<uint64_t>(step) + 1;
    RETURN_IF_ERROR(run.Advance([&] { return run.step() == target; }));
    if (step > 0) {
      measurement.Add(meter);
    }
  }
  const std::vector<inference::train::TrainingSequence> batch = objective->Draw(1);
  const double flops = StepFlops(weights->shape(), arguments, batch);
  const double peak = MeasureFloatPeak();
  measurement.set_flops(flops);
  measurement.set_tokens(static_cast<double>(arguments.sequences) * arguments.tokens);
  measurement.AddDetail("step_gflop", flops * 1e-9);
  measurement.AddDetail("f32_peak", peak);
  measurement.AddDetail("share_of_peak", flops / measurement.BestCpuMs() * 1e-6 / peak);
  measurement.AddDetail("peak_mb", PeakMegabytes());
  measurement.AddDetail("weights_mb", FileMegabytes(arguments.model));
  measurement.AddDetail("loss", run.loss());
  fmt::print("{}\n", measurement.JsonLine("train"));
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  CLI::App app("Measures training steps of a LoRA on every linear layer.");
  app.footer(ruvd::bench::kFooter);
  ruvd::bench::Arguments arguments;
  app.add_option("--model", arguments.model, "model file")->required();
  app.add_option("--sequences", arguments.sequences, "sequences of a step")->capture_default_str();
  app.add_option("--tokens", arguments.tokens, "tokens of a sequence")->capture_default_str();
  app.add_option("--rank", arguments.rank, "of the LoRA")->capture_default_str();
  app.add_option("--threads", arguments.threads, "threads")->capture_default_str();
  app.add_option("--steps", arguments.steps, "measured steps")->capture_default_str();
  app.add_option("--first-layer", arguments.first_layer, "first changed layer")
      ->capture_default_str();
  app.add_option("--memory-mb", arguments.memory_mb, "for activations")->capture_default_str();
  app.add_flag_callback(
      "--float32",
      [&arguments] { arguments.precision = ruvd::inference::train::TrainingPrecision::kFloat32; },
      "keep products in float32; nodes round their factors where AMX multiplies them");
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = ruvd::bench::Measure(arguments); !status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
    return 1;
  }
  return 0;
}
