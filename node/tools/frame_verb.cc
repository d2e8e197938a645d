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
#include "inference/train/frame_fisher.h"
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
  int fisher = 1024;
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

using Streams = std::vector<std::vector<inference::TokenId>>;

// Returns the tokens of each text.
absl::StatusOr<Streams> ReadStreams(const inference::Model& model, const FrameFlags& flags) {
  Streams streams;
  for (const std::string& text : flags.texts) {
    ASSIGN_OR_RETURN(const auto documents, inference::ReadTextDocuments(text));
    streams.push_back(inference::EncodeDocuments(model.tokenizer(), documents));
  }
  return streams;
}

// Returns at most `sequences` crops, equally many of each text, so that a long text does not
// outweigh the others.
absl::StatusOr<std::vector<inference::TrainingExample>> CropsOf(const inference::Model& model,
                                                                const Streams& streams,
                                                                int most_length, int most) {
  const auto length = static_cast<size_t>(std::min(most_length, model.config().context));
  const auto sequences = static_cast<size_t>(most);
  std::vector<inference::TrainingExample> crops;
  for (size_t i = 0; i < streams.size(); ++i) {
    const size_t share = sequences * (i + 1) / streams.size() - sequences * i / streams.size();
    AppendCrops(streams[i], length, share, &crops);
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

// The parts of a frame's making.
struct Making {
  CommandContext& context;
  const FrameFlags& flags;
  std::shared_ptr<const inference::Model> model;
  Streams streams;  // of the texts
  ParallelRunner& runner;
};

absl::StatusOr<inference::FrameSet> Estimate(const Making& making,
                                             const std::vector<std::string>& targets,
                                             inference::FrameKind kind) {
  const FrameFlags& flags = making.flags;
  ASSIGN_OR_RETURN(std::vector<inference::TrainingExample> crops,
                   CropsOf(*making.model, making.streams, flags.length, flags.sequences));
  const auto batch = static_cast<size_t>(flags.batch);
  const uint64_t steps = (crops.size() + batch - 1) / batch;
  ASSIGN_OR_RETURN(const auto objective,
                   inference::train::MakeObjective(*making.model, std::move(crops),
                                                   {.batch = flags.batch, .seed = flags.seed}));
  const inference::FrameEstimateOptions options{
      .kind = kind,
      .rank = flags.rank,
      .memory_bytes = static_cast<uint64_t>(flags.memory_mib) << 20};
  return EstimateFrameSet(
      making.model, targets, options, [&](uint64_t step) { return objective->Draw(step); }, steps,
      making.runner, FrameProgressLine(making.context));
}

absl::StatusOr<inference::FrameSet> MakeFactors(const Making& making) {
  const FrameFlags& flags = making.flags;
  const auto targets = inference::LinearTargets(
      *making.model, inference::ModulesByName(flags.modules).value_or(inference::Modules::kAll));
  const inference::FrameKind kind =
      inference::FrameKindByName(flags.kind).value_or(inference::FrameKind::kCovariance);
  switch (kind) {
    case inference::FrameKind::kWeight:
      return WeightFrameSet(*making.model, targets, flags.rank, making.runner);
    case inference::FrameKind::kRandom:
      return RandomFrameSet(*making.model, targets, flags.rank, flags.seed);
    case inference::FrameKind::kCovariance:
    case inference::FrameKind::kGradient:
      break;
  }
  return Estimate(making, targets, kind);
}

absl::StatusOr<inference::FrameSet> MakeFrame(CommandContext& context, const FrameFlags& flags) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(flags.model));
  ASSIGN_OR_RETURN(Streams streams, ReadStreams(*model, flags));
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  ThreadParallelRunner runner(flags.threads > 0 ? flags.threads : cores);
  const Making making{.context = context,
                      .flags = flags,
                      .model = model,
                      .streams = std::move(streams),
                      .runner = runner};
  ASSIGN_OR_RETURN(inference::FrameSet frame, MakeFactors(making));
  if (!making.streams.empty() && flags.fisher > 0) {
    ASSIGN_OR_RETURN(const std::vector<inference::TrainingExample> pieces,
                     CropsOf(*model, making.streams, flags.length, flags.fisher));
    RETURN_IF_ERROR(AddFisher(model, pieces, {.seed = flags.seed, .batch = flags.batch}, runner,
                              &frame, FrameProgressLine(context)));
  }
  return frame;
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
  report.set_fisher(frame.has_fisher());
  context.out << (context.json
                      ? ToJsonLine(report)
                      : fmt::format(
                            "{}: frame {} of kind {}, rank {}, {} modules, {} Fisher information\n",
                            PrintableLine(flags.out), ToHex(frame.id),
                            inference::FrameKindName(frame.kind), flags.rank, frame.modules.size(),
                            frame.has_fisher() ? "with" : "without"));
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
  verb.Option("--text", flags->texts,
              "cov, grad, Fisher information: public text; text or .jsonl, plain or .zst");
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
  verb.Option("--length", flags->length, "Tokens per crop").InRange(2, 1 << 16).ShowDefault();
  verb.Option("--batch", flags->batch, "Crops per batch").InRange(1, 256).ShowDefault();
  verb.Option("--fisher", flags->fisher,
              "Most crops of the text of which the Fisher information is the mean; it holds "
              "training near the model on general text. 0 leaves it out")
      .InRange(0, 1 << 16)
      .ShowDefault();
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
