// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Makes models of real shapes with random weights and measures the engine on model files; `engine
// --help` says how. bench/compare.py runs it alternately with another program.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/status.h"
#include "bench/engine_runs.h"
#include "bench/random_model.h"
#include "inference/kernels/kernel_table.h"
#include "inference/limits.h"
#include "inference/sampler/sampler_kind.h"

namespace ruvd::bench {
namespace {

// Upper bound of every count. The model's own limits are lower, and the engine checks them.
constexpr int kMost = 1 << 20;

constexpr char kFooter[] =
    "Measured commands print one JSON line: ms_wall and ms_cpu (best repetition, CPU time of all\n"
    "threads together; medians beside them), gflops (two operations for each multiply-add of the\n"
    "weight products, of attention and of the output matrix for the rows computed, per CPU time:\n"
    "a rate per busy core), tokens_per_s (wall), tokens_per_forward, rss_mb (resident now); then "
    "the\n"
    "forwards of a repetition and its mean CPU time in forwards, in the output matrix and, for\n"
    "denoise, in all the rest (tokenising, sampling, text).";

struct Arguments {
  RandomModelOptions make;
  RunOptions run;
  DenoiseOptions denoise;
  ForwardOptions forward;
  int prompt = 128;
};

void AddMake(CLI::App& app, Arguments* arguments) {
  CLI::App* make = app.add_subcommand("make", "write a GGUF file with random weights");
  RandomModelOptions& options = arguments->make;
  make->add_option("--shape", options.shape, "0.5b, 29m or 7b-layer")
      ->required()
      ->check(CLI::IsMember(ShapeNames()));
  make->add_option("--type", options.type,
                   "format: F32, F16, Q8_0, Q4_0, Q4_K, Q4_K_M, ... (tensors as `ruvd model "
                   "quantize` divides it)")
      ->required();
  make->add_option("--out", options.path, "the file")->required();
  make->add_option("--arch", options.architecture, "dream (default), qwen2 or llama")
      ->check(CLI::IsMember({"dream", "qwen2", "llama"}));
  make->add_option("--layers", options.layers, "layers, if not the shape's own")
      ->check(CLI::Range(1, kMost));
  make->add_option("--seed", options.seed, "of the weights")->capture_default_str();
}

CLI::App* AddRun(CLI::App& app, const std::string& name, const std::string& description,
                 RunOptions* run) {
  CLI::App* command = app.add_subcommand(name, description);
  command->add_option("--model", run->model, "GGUF file")->required();
  command->add_option("--tokens", run->tokens, "tokens of a repetition")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  command->add_option("--threads", run->threads, "threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--reps", run->reps, "measured repetitions, after one that is not")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  command
      ->add_option("--precision", run->precision,
                   "fast: integer kernels, what a node serves with; exact: float32 activations")
      ->check(CLI::IsMember({"fast", "exact"}))
      ->capture_default_str();
  return command;
}

absl::StatusOr<std::string> Dispatch(const CLI::App& app, const Arguments& arguments) {
  RETURN_IF_ERROR(inference::CheckKernelsVariable());
  if (app.got_subcommand("make")) {
    RETURN_IF_ERROR(WriteRandomModel(arguments.make));
    return fmt::format("wrote {}", arguments.make.path);
  }
  if (app.got_subcommand("forward")) {
    return RunForward(arguments.run, arguments.forward);
  }
  if (app.got_subcommand("decode")) {
    return RunDecode(arguments.run, arguments.prompt);
  }
  return RunDenoise(arguments.run, arguments.denoise);
}

void AddForward(CLI::App& app, Arguments* arguments) {
  CLI::App* forward = AddRun(app, "forward", "one pass over random tokens", &arguments->run);
  ForwardOptions& options = arguments->forward;
  forward->add_option("--rows", options.rows, "logits of: all, last, or masked:K for K rows")
      ->capture_default_str();
  forward
      ->add_option("--adapter-rank", options.adapter_rank,
                   "a random adapter of this rank on all linear layers; 0: none")
      ->check(CLI::Range(0, limits::kMaxAdapterRank))
      ->capture_default_str();
}

void AddDenoise(CLI::App& app, Arguments* arguments) {
  CLI::App* denoise = AddRun(app, "denoise", "completions by the diffusion loop, from text to text",
                             &arguments->run);
  DenoiseOptions& options = arguments->denoise;
  denoise->add_option("--prompt", options.prompt, "tokens of the prompt")
      ->check(CLI::Range(0, kMost))
      ->capture_default_str();
  denoise
      ->add_option("--steps", options.steps,
                   "steps of the window, or of each block; 0: one token a step")
      ->check(CLI::Range(0, kMost))
      ->capture_default_str();
  denoise->add_option("--block", options.block, "block length; 0: the whole window at once")
      ->check(CLI::Range(0, kMost))
      ->capture_default_str();
  denoise->add_option("--sampler", options.sampler,
                      inference::SamplerNames() + " (default: the engine's for the mode)");
  denoise->add_option("--threshold", options.threshold, "confidence of the sampler \"threshold\"")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  denoise->add_option("--batch", options.batch, "completions that share their forwards")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
}

int Run(int argc, char** argv) {
  CLI::App app("Makes models with random weights and measures the engine.");
  Arguments arguments;
  AddMake(app, &arguments);
  AddForward(app, &arguments);
  AddRun(app, "decode", "greedy tokens, one forward each, behind a cached prompt", &arguments.run)
      ->add_option("--prompt", arguments.prompt, "tokens of the prompt")
      ->check(CLI::Range(1, kMost))
      ->capture_default_str();
  AddDenoise(app, &arguments);
  app.require_subcommand(1);
  app.set_help_flag();  // the option below describes every command at once
  app.set_help_all_flag("-h,--help", "describe all commands");
  app.footer(kFooter);
  CLI11_PARSE(app, argc, argv);
  const auto line = Dispatch(app, arguments);
  if (!line.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(line.status()));
    return 1;
  }
  fmt::print("{}\n", *line);
  return 0;
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  return ruvd::bench::Run(argc, argv);
}
