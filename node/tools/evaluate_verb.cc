// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
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
#include "ruvd/report/v1/report.pb.h"

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
    report::v1::EvaluateReport report;
    report.set_mode(flags.mode);
    report.set_nats_per_token(result.nats_per_token);
    report.set_standard_error(result.standard_error);
    report.set_mask_error(result.mask_error);
    report.set_bits_per_byte(result.bits_per_byte);
    report.set_sequences(static_cast<uint32_t>(result.sequences));
    report.mutable_nats_by_t()->Add(result.nats_by_t.begin(), result.nats_by_t.end());
    report.mutable_tokens_by_t()->Add(result.tokens_by_t.begin(), result.tokens_by_t.end());
    context.out << ToJsonLine(report);
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
  Verb verb = verbs.Add("model evaluate", "Models", "Measure the loss of a model on a text",
                        [flags](CommandContext& context) { return Evaluate(context, *flags); });
  verb.Option("--model", flags->model, "GGUF file of the model").Required();
  verb.Option("--text", flags->text, "File to measure on: text or .jsonl, plain or .zst")
      .Required();
  verb.Option("--mode", flags->mode,
              "Mode: mdlm (masked diffusion), block (block diffusion) or ar (autoregressive)")
      .OneOf({"mdlm", "block", "ar"})
      .ShowDefault();
  verb.Option("--sequences", options.sequences, "Most crops of the text")
      .InRange(1, 1 << 16)
      .ShowDefault();
  verb.Option("--length", options.sequence_length, "Tokens per crop")
      .InRange(2, 1 << 20)
      .ShowDefault();
  verb.Option("--samples", options.samples, "Mask draws per crop")
      .InRange(1, 1 << 16)
      .ShowDefault();
  verb.Option("--seed", options.seed, "Random seed of the masks").ShowDefault();
  verb.Option("--threads", flags->threads, "Compute threads; 0 means one per core")
      .InRange(0, 1024)
      .ShowDefault();
}

}  // namespace ruvd::cli
