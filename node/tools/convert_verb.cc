// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd learn convert`: turns an autoregressive model into a block-diffusion model. It works on
// files and needs no node.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/convert/conversion.h"
#include "inference/evaluate/evaluate.h"
#include "inference/evaluate/text_documents.h"
#include "inference/gguf/scheme.h"
#include "inference/limits.h"
#include "inference/train/limits.h"
#include "node/terminal/command.h"
#include "node/terminal/interrupt.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "node/tools/verbs.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

// Number of progress lines of a whole run.
constexpr int kReports = 40;

struct ConvertFlags {
  std::string base;
  std::string out;
  std::vector<std::string> texts;
  std::vector<std::string> valid;
  std::string type;
  std::string checkpoint;
  int checkpoint_every = 50;
  int memory_mib = 512;
  int threads = 0;
  inference::ConversionOptions options;

  std::string CheckpointPath() const {
    return checkpoint.empty() ? out + ".checkpoint" : checkpoint;
  }
};

absl::StatusOr<std::vector<inference::TokenId>> ReadStream(const inference::Tokenizer& tokenizer,
                                                           const std::vector<std::string>& paths) {
  std::vector<inference::TokenId> stream;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const auto documents, inference::ReadTextDocuments(path));
    const std::vector<inference::TokenId> tokens = inference::EncodeDocuments(tokenizer, documents);
    stream.insert(stream.end(), tokens.begin(), tokens.end());
  }
  return stream;
}

// Reports the progress of a conversion.
class Reporter {
 public:
  Reporter(CommandContext& context, const inference::Conversion& conversion, int steps)
      : context_(context),
        conversion_(conversion),
        steps_(static_cast<uint64_t>(steps)),
        every_(static_cast<uint64_t>(std::max(1, steps / kReports))),
        began_at_(conversion.step()),
        evaluations_(conversion.held_out().size()) {}

  void Say() {
    const uint64_t step = conversion_.step();
    if (conversion_.held_out().size() != evaluations_) {
      evaluations_ = conversion_.held_out().size();
      context_.err << fmt::format("step {} of {}: held-out NELBO {:.4f} nats/token\n", step, steps_,
                                  conversion_.held_out().back());
    } else if (step % every_ == 0 && step > began_at_) {
      context_.err << fmt::format("step {} of {}: loss {:.4f}, blocks of {}, {}\n", step, steps_,
                                  conversion_.loss(), conversion_.block_length(), TimeLeft(step));
    }
    context_.err << std::flush;
  }

 private:
  std::string TimeLeft(uint64_t step) const {
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - began_;
    const double each = past.count() / static_cast<double>(step - began_at_);
    return fmt::format("{:.1f} s per step, {:.0f} min left", each,
                       each * static_cast<double>(steps_ - step) / 60);
  }

  CommandContext& context_;
  const inference::Conversion& conversion_;
  uint64_t steps_;
  uint64_t every_;
  uint64_t began_at_;
  size_t evaluations_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// Continues from a checkpoint if there is one.
absl::Status Resume(CommandContext& context, const ConvertFlags& flags,
                    inference::Conversion* conversion) {
  const std::string path = flags.CheckpointPath();
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxRunStateBytes));
  if (const absl::Status restored = conversion->Restore(AsBytes(bytes)); !restored.ok()) {
    return Annotate(restored, fmt::format("{}: remove it or name another with --checkpoint",
                                          PrintableLine(path)));
  }
  context.err << fmt::format("continuing from step {} of {}\n", conversion->step(),
                             PrintableLine(path));
  return absl::OkStatus();
}

absl::Status Train(CommandContext& context, const ConvertFlags& flags,
                   inference::Conversion* conversion) {
  const std::string path = flags.CheckpointPath();
  const auto save = [&] { return WriteFileAtomically(path, conversion->Checkpoint(), 0600); };
  const Interrupt interrupt;
  Reporter reporter(context, *conversion, flags.options.steps);
  RETURN_IF_ERROR(save());  // a file that cannot be written is noticed before the work starts
  while (!conversion->done()) {
    const uint64_t step = conversion->step();
    const size_t evaluations = conversion->held_out().size();
    RETURN_IF_ERROR(conversion->Advance([&] {
      return interrupt.raised() || conversion->step() != step ||
             conversion->held_out().size() != evaluations;
    }));
    reporter.Say();
    if (interrupt.raised()) {
      RETURN_IF_ERROR(save());
      return Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                   "stopped at step {} of {}; run the same command to continue from {}",
                   conversion->step(), flags.options.steps, path);
    }
    if (conversion->step() != step &&
        conversion->step() % static_cast<uint64_t>(flags.checkpoint_every) == 0) {
      RETURN_IF_ERROR(save());
    }
  }
  return save();
}

void Print(CommandContext& context, const ConvertFlags& flags,
           const inference::Conversion& conversion, const inference::Conversion::Written& written) {
  const double before = conversion.held_out().front();
  const double after = conversion.held_out().back();
  const auto learnt = static_cast<uint64_t>(flags.options.steps) *
                      static_cast<uint64_t>(flags.options.batch) *
                      static_cast<uint64_t>(flags.options.length);
  if (context.json) {
    report::v1::ConvertReport report;
    report.set_out(flags.out);
    report.set_bytes(written.bytes);
    report.set_steps(static_cast<uint32_t>(flags.options.steps));
    report.set_tokens(learnt);
    report.set_mask_token(static_cast<uint32_t>(conversion.mask()));
    report.set_block_length(static_cast<uint32_t>(flags.options.block_length));
    report.set_trained(static_cast<uint64_t>(conversion.parameters()));
    report.set_held_out_crops(static_cast<uint32_t>(conversion.held_out_crops()));
    report.set_nelbo_before(before);
    report.set_nelbo_after(after);
    report.set_nelbo_written(written.nelbo);
    context.out << ToJsonLine(report);
    return;
  }
  context.out << fmt::format(
      "{}: block diffusion, blocks of {} tokens, mask token {}, {} bytes\n"
      "held-out NELBO {:.4f} -> {:.4f} nats/token over {} crops; {:.4f} for the written file\n",
      PrintableLine(flags.out), flags.options.block_length, conversion.mask(), written.bytes,
      before, after, conversion.held_out_crops(), written.nelbo);
}

// Makes the checks that need no reading.
absl::Status CheckFiles(const ConvertFlags& flags) {
  std::error_code ignored;
  if (std::filesystem::exists(flags.out, ignored)) {
    return UsageError(fmt::format("{} exists already; remove it or name another file with --out",
                                  PrintableLine(flags.out)));
  }
  return flags.type.empty() ? absl::OkStatus()
                            : inference::ParseQuantizationScheme(flags.type).status();
}

absl::Status Convert(CommandContext& context, ConvertFlags& flags) {
  RETURN_IF_ERROR(CheckFiles(flags));
  flags.options.memory_bytes = static_cast<uint64_t>(flags.memory_mib) << 20;
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  ThreadParallelRunner runner(flags.threads > 0 ? flags.threads : cores);
  const auto read =
      [&](const inference::Tokenizer& tokenizer) -> absl::StatusOr<inference::ConversionTexts> {
    inference::ConversionTexts texts;
    ASSIGN_OR_RETURN(texts.train, ReadStream(tokenizer, flags.texts));
    ASSIGN_OR_RETURN(texts.held_out, ReadStream(tokenizer, flags.valid));
    return texts;
  };
  ASSIGN_OR_RETURN(const auto conversion,
                   inference::Conversion::Create(flags.base, read, flags.options, runner));
  context.err << fmt::format(
      "{} tokens of text, {} crops held out, {} trained parameters, mask token {}\n",
      conversion->training_tokens(), conversion->held_out_crops(), conversion->parameters(),
      conversion->mask());
  RETURN_IF_ERROR(Resume(context, flags, conversion.get()));
  RETURN_IF_ERROR(Train(context, flags, conversion.get()));
  ASSIGN_OR_RETURN(const inference::Conversion::Written written,
                   conversion->Write(flags.out, flags.type));
  std::error_code ignored;
  std::filesystem::remove(flags.CheckpointPath(), ignored);
  Print(context, flags, *conversion, written);
  return absl::OkStatus();
}

void AddTrainingFlags(Verb verb, ConvertFlags& flags) {
  inference::ConversionOptions& options = flags.options;
  verb.Option("--rank", options.rank, "Rank of the low-rank changes of all linear layers")
      .InRange(1, limits::kMaxAdapterRank)
      .ShowDefault();
  verb.Option("--block", options.block_length, "Tokens per block")
      .InRange(2, 1 << 12)
      .ShowDefault();
  verb.Option("--steps", options.steps, "Updates")
      .InRange(1, limits::kMaxTrainingSteps)
      .ShowDefault();
  verb.Option("--batch", options.batch, "Crops per step")
      .InRange(1, limits::kMaxTrainingBatch)
      .ShowDefault();
  verb.Option("--length", options.length,
              "Tokens per crop, at most the context length of the base model")
      .InRange(2, 1 << 16)
      .ShowDefault();
  verb.Option("--learning-rate", options.learning_rate,
              "Highest learning rate of AdamW; it is reached after a warm-up and then decays")
      .Positive()
      .ShowDefault();
  verb.Option("--anneal", options.anneal,
              "Share of the steps over which the block length grows from one token; 0 is off")
      .InRange(0.0, 1.0)
      .ShowDefault();
  verb.Option("--seed", options.seed, "Random seed for crops, masks and initial values")
      .ShowDefault();
  verb.Option("--valid-crops", options.held_out, "Most crops that the NELBO is measured on")
      .InRange(1, limits::kMaxHeldOutSamples)
      .ShowDefault();
  verb.Option("--evaluate-every", options.evaluate_every,
              "Steps between two measurements; 0 measures only before the first step and after "
              "the last")
      .InRange(0, limits::kMaxTrainingSteps)
      .ShowDefault();
}

}  // namespace

void AddConvertVerb(VerbTable& verbs) {
  auto flags = std::make_shared<ConvertFlags>();
  Verb verb = verbs.Add("learn convert", "Learning",
                        "Turn an autoregressive model into a block-diffusion model",
                        [flags](CommandContext& context) { return Convert(context, *flags); });
  verb.Option("--base", flags->base, "GGUF file of an autoregressive model (qwen2)").Required();
  verb.Option("--text", flags->texts, "Training text: text or .jsonl, plain or .zst").Required();
  verb.Option("--out", flags->out, "GGUF file to write").Required();
  verb.Option("--valid", flags->valid,
              "Text on which the NELBO is measured; default: the last twentieth of --text");
  AddTrainingFlags(verb, *flags);
  verb.Option("--mask-token", flags->options.mask_token,
              "Mask token, as id or text, which no text may contain; default: the mask token "
              "or an unused token of the model");
  verb.Option("--type", flags->type,
              "Tensor formats of --out, one of " + inference::QuantizationSchemeNames() +
                  "; default: the formats of the base model");
  verb.Option("--checkpoint", flags->checkpoint,
              "Checkpoint file, from which a stopped run continues; default: OUT.checkpoint");
  verb.Option("--checkpoint-every", flags->checkpoint_every, "Steps between checkpoints")
      .InRange(1, limits::kMaxTrainingSteps)
      .ShowDefault();
  verb.Option("--memory", flags->memory_mib,
              "Memory for activations in MiB; less memory takes more time")
      .InRange(1, 1 << 20)
      .ShowDefault();
  verb.Option("--threads", flags->threads, "Compute threads; 0 means one per core")
      .InRange(0, 1024)
      .ShowDefault();
}

}  // namespace ruvd::cli
