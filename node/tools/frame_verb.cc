// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/frame_set.h"
#include "inference/evaluate/evaluate.h"
#include "inference/evaluate/text_documents.h"
#include "inference/limits.h"
#include "inference/model/model.h"
#include "inference/train/frame_estimate.h"
#include "inference/train/losses.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "node/tools/verbs.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

struct FrameFlags {
  std::string model;
  std::vector<std::string> texts;
  std::string out;
  std::string kind = "cov";
  std::string modules = "all";
  int rank = 32;
  int sequences = 384;
  int length = 128;
  int batch = 8;
  int memory_mib = 1024;
  uint64_t seed = 1;
  int threads = 0;
};

// Appends `count` crops of a stream of tokens, evenly spaced, or all that it has.
void AppendCrops(const std::vector<inference::TokenId>& stream, size_t length, size_t count,
                 std::vector<inference::TrainingExample>* crops) {
  const size_t whole = stream.size() / length;
  const size_t taken = std::min(whole, count);
  for (size_t i = 0; i < taken; ++i) {
    const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(i * whole / taken * length);
    crops->emplace_back().completion.assign(begin, begin + static_cast<std::ptrdiff_t>(length));
  }
}

// Returns at most `sequences` crops, equally many of each text, so that a long text does not
// outweigh the others.
absl::StatusOr<std::vector<inference::TrainingExample>> ReadCrops(const inference::Model& model,
                                                                  const FrameFlags& flags) {
  const auto length = static_cast<size_t>(std::min(flags.length, model.config().context));
  const auto sequences = static_cast<size_t>(flags.sequences);
  std::vector<inference::TrainingExample> crops;
  for (size_t i = 0; i < flags.texts.size(); ++i) {
    ASSIGN_OR_RETURN(const auto documents, inference::ReadTextDocuments(flags.texts[i]));
    const size_t share =
        sequences * (i + 1) / flags.texts.size() - sequences * i / flags.texts.size();
    AppendCrops(inference::EncodeDocuments(model.tokenizer(), documents), length, share, &crops);
  }
  if (crops.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the text is shorter than one sequence of {} tokens; give more text with --text",
                 length);
  }
  return crops;
}

// Shows a counter on the terminal, and nothing if standard error is not a terminal.
inference::FrameProgress FrameProgressLine(CommandContext& context) {
  const bool visible = ::isatty(STDERR_FILENO) == 1;
  return [&context, visible](uint64_t done, uint64_t all) {
    if (visible) {
      context.err << fmt::format("\r{} of {} batches{}", done, all, done == all ? "\n" : "")
                  << std::flush;
    }
    return true;
  };
}

absl::StatusOr<inference::FrameSet> Estimate(CommandContext& context,
                                             const std::shared_ptr<const inference::Model>& model,
                                             const std::vector<std::string>& targets,
                                             inference::FrameKind kind, const FrameFlags& flags,
                                             ParallelRunner& runner) {
  ASSIGN_OR_RETURN(std::vector<inference::TrainingExample> crops, ReadCrops(*model, flags));
  const auto batch = static_cast<size_t>(flags.batch);
  const uint64_t steps = (crops.size() + batch - 1) / batch;
  ASSIGN_OR_RETURN(const auto objective,
                   inference::train::MakeObjective(*model, std::move(crops),
                                                   {.batch = flags.batch, .seed = flags.seed}));
  const inference::FrameEstimateOptions options{
      .kind = kind,
      .rank = flags.rank,
      .memory_bytes = static_cast<uint64_t>(flags.memory_mib) << 20};
  return EstimateFrameSet(
      model, targets, options, [&](uint64_t step) { return objective->Draw(step); }, steps, runner,
      FrameProgressLine(context));
}

absl::StatusOr<inference::FrameSet> MakeFrame(CommandContext& context, const FrameFlags& flags) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(flags.model));
  const auto targets = inference::LinearTargets(
      *model, inference::ModulesByName(flags.modules).value_or(inference::Modules::kAll));
  const inference::FrameKind kind =
      inference::FrameKindByName(flags.kind).value_or(inference::FrameKind::kCovariance);
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  ThreadParallelRunner runner(flags.threads > 0 ? flags.threads : cores);
  switch (kind) {
    case inference::FrameKind::kWeight:
      return WeightFrameSet(*model, targets, flags.rank, runner);
    case inference::FrameKind::kRandom:
      return RandomFrameSet(*model, targets, flags.rank, flags.seed);
    case inference::FrameKind::kCovariance:
    case inference::FrameKind::kGradient:
      break;
  }
  return Estimate(context, model, targets, kind, flags, runner);
}

absl::Status Run(CommandContext& context, const FrameFlags& flags) {
  ASSIGN_OR_RETURN(const inference::FrameSet frame, MakeFrame(context, flags));
  RETURN_IF_ERROR(inference::SaveFrameSet(frame, flags.out));
  report::v1::FrameReport report;
  report.set_out(flags.out);
  report.set_id(ToHex(frame.id));
  report.set_kind(std::string(inference::FrameKindName(frame.kind)));
  report.set_rank(static_cast<uint32_t>(flags.rank));
  report.set_modules(static_cast<uint32_t>(frame.modules.size()));
  context.out << (context.json ? ToJsonLine(report)
                               : fmt::format("{}: frame {} of kind {}, rank {}, {} modules\n",
                                             PrintableLine(flags.out), ToHex(frame.id),
                                             inference::FrameKindName(frame.kind), flags.rank,
                                             frame.modules.size()));
  return absl::OkStatus();
}

}  // namespace

void AddFrameVerb(VerbTable& verbs) {
  auto flags = std::make_shared<FrameFlags>();
  Verb verb = verbs.Add("model frame", "Models",
                        "Compute the frame: the outer factors that the adapters of a cluster share",
                        [flags](CommandContext& context) { return Run(context, *flags); });
  verb.Option("--model", flags->model, "GGUF file of the model").Required();
  verb.Option("--out", flags->out, "GGUF file to write").Required();
  verb.Option("--text", flags->texts, "cov, grad: public text; text or .jsonl, plain or .zst");
  verb.Option("--kind", flags->kind,
              "Source of the vectors: cov (covariance of inputs and output gradients), grad, "
              "svd (of the weights) or random")
      .OneOf({"cov", "grad", "svd", "random"})
      .ShowDefault();
  verb.Option("--rank", flags->rank, "Rank of the frame: number of vectors on each side")
      .InRange(1, limits::kMaxAdapterRank)
      .ShowDefault();
  verb.Option("--modules", flags->modules, "Linear layers in the frame: qv, attention or all")
      .OneOf({"qv", "attention", "all"})
      .ShowDefault();
  verb.Option("--sequences", flags->sequences,
              "cov, grad: most crops of the text, equally many of each --text")
      .InRange(1, 1 << 16)
      .ShowDefault();
  verb.Option("--length", flags->length, "cov, grad: tokens per crop")
      .InRange(2, 1 << 16)
      .ShowDefault();
  verb.Option("--batch", flags->batch, "cov, grad: crops per batch").InRange(1, 256).ShowDefault();
  verb.Option("--memory", flags->memory_mib,
              "cov, grad: memory for sums in MiB; with more memory, more layers share one pass "
              "over the text")
      .InRange(1, 1 << 20)
      .ShowDefault();
  verb.Option("--seed", flags->seed, "Random seed of the masks, or of a random frame")
      .ShowDefault();
  verb.Option("--threads", flags->threads, "Compute threads; 0 means one per core")
      .InRange(0, 1024)
      .ShowDefault();
}

}  // namespace ruvd::cli
