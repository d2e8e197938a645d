// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes docs/samples.md to standard output: write_samples MODEL.gguf.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "bench/study_completions.h"
#include "bench/study_prompts.h"
#include "bench/text_measures.h"
#include "inference/backend/backend.h"
#include "inference/train/score.h"

namespace ruvd::bench {
namespace {

constexpr size_t kPrompts = 4;

constexpr char kHead[] =
    "<!--\n"
    "SPDX-FileCopyrightText: 2026 The RuvDLLM Authors\n"
    "SPDX-License-Identifier: Apache-2.0\n"
    "-->\n\n"
    "# Samples\n\n"
    "What `ruvdllm-29m` (Q8_0, integer kernels and penalties as served) writes: twelve\n"
    "completions, four prompts by three samplers, 64 tokens, one seed. The prompts were chosen\n"
    "before any completion was seen (the first four of `bench/study_prompts.h`), the samplers are\n"
    "the defaults of block and diffusion mode and ancestral sampling; the default of block mode\n"
    "comes from a study whose 32 prompts include these four. Nothing was picked or redrawn. The\n"
    "model has 29 million parameters and no chat tuning: expect English sentences that hang\n"
    "together for a line or two and are not true. `samples-corrected.md` has completions before\n"
    "and after corrections.\n\n"
    "Made by `build/release/bench/write_samples deploy/models/ruvdllm-29m.q8_0.gguf > "
    "docs/samples.md`.\n\n"
    "Cross-entropy is nats/token of the completion given the prompt under the model's own\n"
    "next-token reading; distinct-n is different n-grams over all n-grams of the completion. Real\n"
    "text and every sampler tried are in `bench/RESULTS.md`.\n";

// Turns the text into one line, so that it can be quoted.
std::string OneLine(std::string text) {
  for (char& c : text) {
    c = c == '\n' || c == '\r' ? ' ' : c;
  }
  return text;
}

absl::Status Write(const std::string& path) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(path));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<inference::Transformer> transformer,
      inference::DefaultBackend().Load(
          model, {.precision = inference::Precision::kFast, .runner = SerialRunner()}));
  std::vector<std::vector<inference::TokenId>> prompts;
  for (size_t i = 0; i < kPrompts; ++i) {
    prompts.push_back(model->tokenizer().Encode(kSelectionPrompts[i]));
  }
  const std::vector<Candidate> candidates = SampleCandidates();
  std::vector<std::vector<Text>> texts;
  for (const Candidate& candidate : candidates) {
    ASSIGN_OR_RETURN(std::vector<Text> completed,
                     Complete(*model, *transformer, prompts, candidate, {.batch = kPrompts}));
    texts.push_back(std::move(completed));
  }
  fmt::print("{}", kHead);
  for (size_t i = 0; i < kPrompts; ++i) {
    fmt::print("\n## {}\n", kSelectionPrompts[i]);
    for (size_t c = 0; c < candidates.size(); ++c) {
      const std::vector<inference::TokenId>& completion = texts[c][i].completion;
      ASSIGN_OR_RETURN(const double nats, inference::ScoreCompletion(
                                              *transformer, prompts[i], completion, nullptr,
                                              {.mode = inference::DecodingMode::kAutoregressive}));
      fmt::print(
          "\n**{}**: cross-entropy {:.2f}, distinct-1 {:.2f}, distinct-2 {:.2f}, distinct-4 "
          "{:.2f}\n\n> {}\n",
          candidates[c].name, nats, Distinct(completion, 1), Distinct(completion, 2),
          Distinct(completion, 4), OneLine(model->tokenizer().Decode(completion)));
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: write_samples MODEL.gguf\n");
    return 2;
  }
  const absl::Status status = ruvd::bench::Write(argv[1]);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
  }
  return status.ok() ? 0 : 1;
}
