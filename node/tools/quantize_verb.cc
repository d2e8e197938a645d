// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "base/parallel.h"
#include "base/status.h"
#include "inference/gguf/quantize_model.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/scheme.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "node/tools/verbs.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

struct QuantizeFlags {
  std::string in;
  std::string out;
  std::string type;
  std::string output_type;
  std::string embedding_type;
  std::vector<std::string> keep;
  int threads = 0;
  bool allow_requantize = false;
  bool dry_run = false;
};

struct Totals {
  uint64_t values = 0;
  uint64_t from_bytes = 0;
  uint64_t to_bytes = 0;
  inference::ConversionError error;
};

Totals TotalsOf(const std::vector<inference::TensorPlan>& plan) {
  Totals totals;
  for (const inference::TensorPlan& tensor : plan) {
    totals.values += tensor.source->values();
    totals.from_bytes += tensor.source->bytes;
    totals.to_bytes += tensor.bytes;
    totals.error += tensor.error;
  }
  return totals;
}

// Reads the format of single tensors, which must be a scheme that uses one format only.
absl::StatusOr<std::optional<inference::TensorType>> ParseTensorFormat(const std::string& name) {
  if (name.empty()) {
    return std::optional<inference::TensorType>();
  }
  ASSIGN_OR_RETURN(const inference::QuantizationScheme scheme,
                   inference::ParseQuantizationScheme(name));
  if (scheme.mix != inference::QuantizationScheme::Mix::kNone) {
    return UsageError(
        fmt::format("{} is a mix of formats; name a single format, such as q6_k", name));
  }
  return std::optional<inference::TensorType>(scheme.base);
}

absl::StatusOr<inference::QuantizeModelOptions> OptionsOf(const QuantizeFlags& flags) {
  inference::QuantizeModelOptions options;
  ASSIGN_OR_RETURN(options.scheme, inference::ParseQuantizationScheme(flags.type));
  ASSIGN_OR_RETURN(options.output_type, ParseTensorFormat(flags.output_type));
  ASSIGN_OR_RETURN(options.embedding_type, ParseTensorFormat(flags.embedding_type));
  options.keep = flags.keep;
  options.allow_requantize = flags.allow_requantize;
  return options;
}

// Shows a counter on the terminal, and nothing if standard error is not a terminal.
inference::QuantizeProgress Progress(CommandContext& context) {
  const bool visible = ::isatty(STDERR_FILENO) == 1;
  return [&context, visible](uint64_t done, uint64_t total) {
    if (visible) {
      context.err << fmt::format("\r{} of {} MB{}", done >> 20, total >> 20,
                                 done == total ? "\n" : "")
                  << std::flush;
    }
  };
}

void PrintJson(CommandContext& context, const std::vector<inference::TensorPlan>& plan,
               bool dry_run, uint64_t file_bytes) {
  report::v1::QuantizeReport report;
  for (const inference::TensorPlan& tensor : plan) {
    report::v1::QuantizeReport::Tensor& message = *report.add_tensors();
    message.set_name(Printable(tensor.source->name));
    message.set_from(std::string(TensorTypeName(tensor.source->type)));
    message.set_to(std::string(TensorTypeName(tensor.type)));
    message.set_bytes(tensor.bytes);
    if (tensor.instead_of) {
      message.set_instead_of(std::string(TensorTypeName(*tensor.instead_of)));
    }
    if (!dry_run) {
      message.set_relative_rms(tensor.error.RelativeRms());
    }
  }
  const Totals totals = TotalsOf(plan);
  report.set_parameters(totals.values);
  report.set_from_bytes(totals.from_bytes);
  report.set_to_bytes(totals.to_bytes);
  report.set_dry_run(dry_run);
  if (!dry_run) {
    report.set_file_bytes(file_bytes);
    report.set_relative_rms(totals.error.RelativeRms());
  }
  context.out << ToJsonLine(report);
}

void PrintTable(CommandContext& context, const std::vector<inference::TensorPlan>& plan,
                const QuantizeFlags& flags) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(plan.size());
  for (const inference::TensorPlan& tensor : plan) {
    rows.push_back({tensor.source->name, std::string(TensorTypeName(tensor.source->type)),
                    std::string(TensorTypeName(tensor.type)), fmt::format("{}", tensor.bytes),
                    flags.dry_run ? "" : fmt::format("{:.4f} %", 100 * tensor.error.RelativeRms()),
                    tensor.instead_of
                        ? fmt::format("{} columns do not fit {}", tensor.source->shape[0],
                                      TensorTypeName(*tensor.instead_of))
                        : ""});
  }
  const Totals totals = TotalsOf(plan);
  context.out << FormatTable({"TENSOR", "FROM", "TO", "BYTES", "RMS ERROR", "NOTE"}, rows)
              << fmt::format(
                     "\n"
                     "{} tensors, {} parameters: {} bytes become {}, {:.2f} bits per value",
                     plan.size(), totals.values, totals.from_bytes, totals.to_bytes,
                     8.0 * static_cast<double>(totals.to_bytes) /
                         static_cast<double>(std::max<uint64_t>(totals.values, 1)));
  context.out << (flags.dry_run
                      ? std::string("; nothing was written\n")
                      : fmt::format(", rms error {:.4f} %\n", 100 * totals.error.RelativeRms()));
}

absl::Status Quantize(CommandContext& context, const QuantizeFlags& flags) {
  ASSIGN_OR_RETURN(const inference::QuantizeModelOptions options, OptionsOf(flags));
  std::error_code ignored;  // if one of the files is missing, they are not the same file
  if (std::filesystem::equivalent(flags.in, flags.out, ignored)) {
    return UsageError("--in and --out are the same file; name another file with --out");
  }
  ASSIGN_OR_RETURN(const auto source, inference::GgufReader::Open(flags.in));
  ASSIGN_OR_RETURN(std::vector<inference::TensorPlan> plan,
                   inference::PlanQuantization(*source, options));
  uint64_t file_bytes = 0;
  if (!flags.dry_run) {
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    ThreadParallelRunner runner(flags.threads > 0 ? flags.threads : cores);
    ASSIGN_OR_RETURN(file_bytes, inference::QuantizeModel(*source, options, &plan, flags.out,
                                                          runner, Progress(context)));
  }
  if (context.json) {
    PrintJson(context, plan, flags.dry_run, file_bytes);
  } else {
    PrintTable(context, plan, flags);
  }
  return absl::OkStatus();
}

}  // namespace

void AddQuantizeVerb(VerbTable& verbs) {
  auto flags = std::make_shared<QuantizeFlags>();
  Verb verb =
      verbs.Add("model quantize", "Models", "Convert the tensors of a model to other formats",
                [flags](CommandContext& context) { return Quantize(context, *flags); });
  verb.Option("--in", flags->in, "GGUF file to read").Required();
  verb.Option("--out", flags->out, "GGUF file to write").Required();
  verb.Option("--type", flags->type,
              "Tensor formats, one of " + inference::QuantizationSchemeNames())
      .Required();
  verb.Option("--output-type", flags->output_type,
              "Format of output.weight; default: q6_k for types below q8_0, as in llama.cpp");
  verb.Option("--embedding-type", flags->embedding_type,
              "Format of token_embd.weight; default: --type, or the format of output.weight if "
              "the two are one tensor");
  verb.Option("--keep", flags->keep,
              "Do not convert tensors with this name, in which * matches any text; may be repeated")
      .OneValueEach();
  verb.Option("--threads", flags->threads, "Compute threads; 0 means one per core")
      .InRange(0, 1024)
      .ShowDefault();
  verb.Switch("--allow-requantize", flags->allow_requantize,
              "Convert tensors that are quantised already, which adds to their error");
  verb.Switch("--dry-run", flags->dry_run, "Show formats and sizes only; write nothing");
}

}  // namespace ruvd::cli
