// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/parallel.h"
#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/evaluate/evaluate.h"
#include "inference/evaluate/text_documents.h"
#include "inference/model/model.h"
#include "inference/transformer/transformer.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/tools/verbs.h"

namespace ruvd::cli {
namespace {

struct EvaluateFlags {
  std::string model;
  std::string text;
  std::string mode = "mdlm";
  int threads = 0;
  inference::EvaluateOptions options;
};

inference::DecodingMode ModeByName(const std::string& name) {
  return name == "ar"      ? inference::DecodingMode::kAutoregressive
         : name == "block" ? inference::DecodingMode::kBlock
                           : inference::DecodingMode::kDiffusion;
}

// Shows a counter on the terminal, and nothing if standard error is not a terminal.
inference::EvaluateProgress Progress(CommandContext& context) {
  const bool visible = ::isatty(STDERR_FILENO) == 1;
  return [&context, visible](int done, int total) {
    if (visible) {
      context.err << fmt::format("\r{} of {} crops{}", done, total, done == total ? "\n" : "")
                  << std::flush;
    }
    return true;
  };
}

void Print(CommandContext& context, const EvaluateFlags& flags,
           const inference::EvaluateResult& result) {
  if (context.json) {
    context.out << ToJsonLine(nlohmann::json{{"mode", flags.mode},
                                             {"nats_per_token", result.nats_per_token},
                                             {"standard_error", result.standard_error},
                                             {"mask_error", result.mask_error},
                                             {"bits_per_byte", result.bits_per_byte},
                                             {"sequences", result.sequences},
                                             {"nats_by_t", result.nats_by_t},
                                             {"tokens_by_t", result.tokens_by_t}});
    return;
  }
  context.out << fmt::format("{}: {:.4f} nats/token = {:.4f} bits/byte over {} crops\n", flags.mode,
                             result.nats_per_token, result.bits_per_byte, result.sequences)
              << fmt::format("standard error {:.4f}", result.standard_error);
  if (result.mask_error > 0) {
    context.out << fmt::format(", of which {:.4f} from the masks", result.mask_error);
  }
  context.out << "\n";
  for (size_t i = 0; i < result.nats_by_t.size(); ++i) {
    if (result.tokens_by_t[i] > 0) {
      context.out << fmt::format("t {:.1f}-{:.1f}  {:.3f}\n", static_cast<double>(i) / 10,
                                 static_cast<double>(i + 1) / 10, result.nats_by_t[i]);
    }
  }
}

absl::Status Evaluate(CommandContext& context, EvaluateFlags& flags) {
  flags.options.mode = ModeByName(flags.mode);
  ASSIGN_OR_RETURN(const auto model, inference::Model::Load(flags.model));
  ASSIGN_OR_RETURN(const auto documents, inference::ReadTextDocuments(flags.text));
  flags.options.sequence_length = std::min(flags.options.sequence_length, model->config().context);
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  ThreadParallelRunner runner(flags.threads > 0 ? flags.threads : cores);
  ASSIGN_OR_RETURN(const auto transformer,
                   inference::DefaultBackend().Load(model, {.runner = runner}));
  ASSIGN_OR_RETURN(
      const inference::EvaluateResult result,
      EvaluateText(*transformer, inference::EncodeDocuments(model->tokenizer(), documents),
                   flags.options, Progress(context)));
  Print(context, flags, result);
  return absl::OkStatus();
}

}  // namespace

void AddEvaluateVerb(VerbTable& verbs) {
  auto flags = std::make_shared<EvaluateFlags>();
  inference::EvaluateOptions& options = flags->options;
  CLI::App& verb =
      verbs.Add("model evaluate", "Models", "Measure the loss of a model on a text",
                [flags](CommandContext& context) { return Evaluate(context, *flags); });
  verb.add_option("--model", flags->model, "GGUF file of the model")->required();
  verb.add_option("--text", flags->text, "File to measure on: text or .jsonl, plain or .zst")
      ->required();
  verb.add_option("--mode", flags->mode,
                  "Mode: mdlm (masked diffusion), block (block diffusion) or ar (autoregressive)")
      ->check(CLI::IsMember({"mdlm", "block", "ar"}))
      ->capture_default_str();
  verb.add_option("--sequences", options.sequences, "Most crops of the text")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  verb.add_option("--length", options.sequence_length, "Tokens per crop")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  verb.add_option("--samples", options.samples, "Mask draws per crop")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  verb.add_option("--seed", options.seed, "Random seed of the masks")->capture_default_str();
  verb.add_option("--threads", flags->threads, "Compute threads; 0 means one per core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

}  // namespace ruvd::cli
