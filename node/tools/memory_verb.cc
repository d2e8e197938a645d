// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/evaluate/text_documents.h"
#include "inference/kernels/packed.h"
#include "inference/memory/learning/learn_parameters.h"
#include "inference/model/model.h"
#include "inference/package/model_package.h"
#include "inference/transformer/transformer.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/tools/verbs.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

struct MemoryFlags {
  std::string model;
  std::vector<std::string> kinds;
  std::string general;
  std::string frequent;
  std::string out;
  int tokens = 100'000;
  int key = 128;
  int steps = 300;
  uint64_t seed = 1;
  int threads = 0;
};

constexpr size_t kDocumentBytes = 12'000;  // of a document of a kind
constexpr size_t kGeneralBytes = 60'000;   // of a document of general text
constexpr size_t kFrequentTokens = 400'000;

using Documents = std::vector<std::vector<inference::TokenId>>;

absl::StatusOr<Documents> ReadTokens(const inference::Model& model, const std::string& path,
                                     size_t most_bytes) {
  ASSIGN_OR_RETURN(const auto texts, inference::ReadTextDocuments(path));
  Documents documents;
  for (const std::string& text : texts) {
    documents.push_back(model.tokenizer().Encode(text.substr(0, most_bytes)));
  }
  return documents;
}

absl::StatusOr<inference::MemoryParameters> Learn(CommandContext& context,
                                                  inference::Transformer& transformer,
                                                  const MemoryFlags& flags) {
  const inference::Model& model = transformer.model();
  if (flags.kinds.size() < 2 || flags.key % static_cast<int>(inference::kBlockColumns) != 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a memory needs two or more kinds of text and a key of a multiple of {} values, "
                 "not {} and {}; change --kind or --key",
                 inference::kBlockColumns, flags.kinds.size(), flags.key);
  }
  inference::MemoryLearningOptions options;
  options.remembered = static_cast<size_t>(flags.tokens) / (options.piece - options.given) + 1;
  options.projection.dimension = flags.key;
  options.projection.steps = flags.steps;
  options.projection.seed = flags.seed;
  options.gate.seed = flags.seed;
  options.seed = flags.seed;
  const bool visible = ::isatty(STDERR_FILENO) == 1;
  const auto say = [&context, visible](const std::string& what) {
    if (visible) {
      context.err << what << "\n" << std::flush;
    }
  };
  options.progress = say;
  std::vector<inference::ObservedKind> kinds;
  std::vector<const inference::ObservedKind*> all;
  for (const std::string& path : flags.kinds) {
    say(fmt::format("reading {}", path));
    ASSIGN_OR_RETURN(const Documents documents, ReadTokens(model, path, kDocumentBytes));
    ASSIGN_OR_RETURN(kinds.emplace_back(), ObserveKind(transformer, documents, options));
  }
  all.reserve(kinds.size());
  for (const inference::ObservedKind& kind : kinds) {
    all.push_back(&kind);
  }
  ASSIGN_OR_RETURN(const Documents general, ReadTokens(model, flags.general, kGeneralBytes));
  ASSIGN_OR_RETURN(
      const Documents frequent,
      ReadTokens(model, flags.frequent.empty() ? flags.general : flags.frequent, kDocumentBytes));
  std::vector<inference::TokenId> stream;
  for (const std::vector<inference::TokenId>& document : frequent) {
    if (stream.size() < kFrequentTokens) {
      stream.insert(stream.end(), document.begin(), document.end());
    }
  }
  return LearnMemoryParameters(
      transformer, all, SpreadPieces(general, options, options.general_read), stream, options);
}

absl::Status MakeMemory(CommandContext& context, const MemoryFlags& flags) {
  ASSIGN_OR_RETURN(const auto model, inference::Model::Load(flags.model));
  if (!model->tokenizer().mask_id()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModeUnsupported,
                 "{} has no mask token, and a token memory is learned with masked text; convert "
                 "the model first with `ruvd learn convert`",
                 flags.model);
  }
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  ThreadParallelRunner runner(flags.threads > 0 ? flags.threads : cores);
  ASSIGN_OR_RETURN(const auto transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kFast, .runner = runner}));
  ASSIGN_OR_RETURN(const inference::MemoryParameters parameters,
                   Learn(context, *transformer, flags));
  const std::string out = flags.out.empty() ? inference::MemoryPath(flags.model) : flags.out;
  RETURN_IF_ERROR(parameters.WriteTo(out));
  if (context.json) {
    report::v1::MemoryReport report;
    report.set_out(out);
    report.set_kinds(static_cast<uint32_t>(flags.kinds.size()));
    report.set_key_values(static_cast<uint32_t>(parameters.dimension));
    report.set_temperature(static_cast<double>(parameters.temperature));
    context.out << ToJsonLine(report);
  } else {
    context.out << fmt::format("{}: keys of {} values, learned from {} kinds of text\n", out,
                               parameters.dimension, flags.kinds.size());
  }
  return absl::OkStatus();
}

}  // namespace

void AddMemoryVerb(VerbTable& verbs) {
  auto flags = std::make_shared<MemoryFlags>();
  Verb verb = verbs.Add("model memory", "Models",
                        "Learn from public text how a model's token memory is read",
                        [flags](CommandContext& context) { return MakeMemory(context, *flags); });
  verb.Option("--model", flags->model, "GGUF file of the model").Required();
  verb.Option("--kind", flags->kinds,
              "Text of one kind that the model has not read: text or .jsonl, plain or .zst; give "
              "two or more")
      .Required();
  verb.Option("--general", flags->general,
              "Text unlike these kinds that the model has not read either, in which the memory "
              "must stay silent")
      .Required();
  verb.Option("--frequent", flags->frequent,
              "Text whose words count as common; default: the general text");
  verb.Option("--out", flags->out, "File to write; default: MODEL.memory.gguf, which nodes load");
  verb.Option("--tokens", flags->tokens, "Tokens of each kind that are remembered")
      .InRange(1000, 10'000'000)
      .ShowDefault();
  verb.Option("--key", flags->key, "Values of a key, a multiple of 32")
      .InRange(32, 512)
      .ShowDefault();
  verb.Option("--steps", flags->steps, "Training steps of the keys")
      .InRange(1, 100'000)
      .ShowDefault();
  verb.Option("--seed", flags->seed, "Seed of all random choices").ShowDefault();
  verb.Option("--threads", flags->threads, "Compute threads; 0 means one per core")
      .InRange(0, 1024)
      .ShowDefault();
}

}  // namespace ruvd::cli
