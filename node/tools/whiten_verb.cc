// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

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
#include "inference/model/model.h"
#include "inference/package/model_package.h"
#include "inference/retrieval/whitening.h"
#include "inference/transformer/transformer.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/tools/verbs.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

struct WhitenFlags {
  std::string model;
  std::string text;
  std::string out;
  int passages = 8000;
  int tokens = 16;
  float shrinkage = 0.5F;
  int threads = 0;
};

// Returns embeddings of passages that are evenly spaced over the documents, the same number from
// each document.
absl::StatusOr<std::vector<float>> EmbedPassages(inference::Transformer& transformer,
                                                 std::span<const std::string> documents,
                                                 const WhitenFlags& flags) {
  const auto wanted = static_cast<size_t>(flags.passages);
  const auto length = static_cast<size_t>(flags.tokens);
  const size_t each = wanted / std::max<size_t>(1, documents.size()) + 1;
  std::vector<float> rows;
  size_t taken = 0;
  for (const std::string& document : documents) {
    const std::vector<inference::TokenId> tokens = transformer.model().tokenizer().Encode(document);
    const size_t distance = std::max(length, tokens.size() / each);
    for (size_t at = 0; at + length <= tokens.size() && taken < wanted; at += distance) {
      ASSIGN_OR_RETURN(const std::vector<float> row,
                       inference::EmbedTokens(transformer, std::span(tokens).subspan(at, length)));
      rows.insert(rows.end(), row.begin(), row.end());
      ++taken;
    }
  }
  return rows;
}

absl::Status Whiten(CommandContext& context, const WhitenFlags& flags) {
  ASSIGN_OR_RETURN(const auto model, inference::Model::Load(flags.model));
  ASSIGN_OR_RETURN(const auto documents, inference::ReadTextDocuments(flags.text));
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  ThreadParallelRunner runner(flags.threads > 0 ? flags.threads : cores);
  ASSIGN_OR_RETURN(const auto transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kFast, .runner = runner}));
  ASSIGN_OR_RETURN(const std::vector<float> rows, EmbedPassages(*transformer, documents, flags));
  const int width = model->config().width;
  const size_t passages = rows.size() / static_cast<size_t>(width);
  if (passages < static_cast<size_t>(width)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} has only {} passages of {} tokens; give more text, because statistics of {} "
                 "values need at least that many passages",
                 flags.text, passages, flags.tokens, width);
  }
  ASSIGN_OR_RETURN(const inference::Whitening whitening,
                   inference::Whitening::Estimate(model->hash(), rows, width, flags.shrinkage));
  const std::string out = flags.out.empty() ? inference::WhiteningPath(flags.model) : flags.out;
  RETURN_IF_ERROR(whitening.WriteTo(out));
  if (context.json) {
    report::v1::WhitenReport report;
    report.set_out(out);
    report.set_passages(passages);
    report.set_width(static_cast<uint32_t>(width));
    context.out << ToJsonLine(report);
  } else {
    context.out << fmt::format("{}: embeddings of {} values, statistics of {} passages\n", out,
                               width, passages);
  }
  return absl::OkStatus();
}

}  // namespace

void AddWhitenVerb(VerbTable& verbs) {
  auto flags = std::make_shared<WhitenFlags>();
  Verb verb = verbs.Add("model whiten", "Models",
                        "Compute the statistics that make a model's embeddings comparable",
                        [flags](CommandContext& context) { return Whiten(context, *flags); });
  verb.Option("--model", flags->model, "GGUF file of the model").Required();
  verb.Option("--text", flags->text, "Ordinary text: text or .jsonl, plain or .zst").Required();
  verb.Option("--out", flags->out,
              "File to write; default: MODEL.whitening.gguf, which nodes load");
  verb.Option("--passages", flags->passages, "Most passages of the text")
      .InRange(2, 1'000'000)
      .ShowDefault();
  verb.Option("--tokens", flags->tokens, "Tokens per passage; choose about the length of prompts")
      .InRange(1, 512)
      .ShowDefault();
  verb.Option("--shrinkage", flags->shrinkage,
              "Share of the mean variance that is added in all directions")
      .InRange(0.0001, 1.0)
      .ShowDefault();
  verb.Option("--threads", flags->threads, "Compute threads; 0 means one per core")
      .InRange(0, 1024)
      .ShowDefault();
}

}  // namespace ruvd::cli
