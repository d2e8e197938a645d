// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/study_completions.h"

#include <memory>
#include <utility>

#include "base/status.h"
#include "inference/engine/step_together.h"

namespace ruvd::bench {

absl::StatusOr<std::vector<Text>> Complete(const inference::Model& model,
                                           inference::Transformer& transformer,
                                           std::span<const std::vector<inference::TokenId>> prompts,
                                           const Candidate& candidate,
                                           const CompleteOptions& options) {
  std::vector<std::unique_ptr<inference::Generation>> all;
  for (int seed = 0; seed < options.seeds; ++seed) {
    for (const std::vector<inference::TokenId>& prompt : prompts) {
      inference::SamplingOptions sampling = candidate.options;
      sampling.max_tokens = options.tokens;
      sampling.ignore_end_of_text = true;
      sampling.seed = static_cast<uint64_t>(seed) * 1000 + all.size();
      ASSIGN_OR_RETURN(auto generation,
                       inference::Generation::Create(model, prompt, sampling, nullptr));
      all.push_back(std::move(generation));
    }
  }
  inference::StepScratch scratch;
  while (true) {
    std::vector<inference::Generation*> running;
    for (const auto& generation : all) {
      if (!generation->done() && running.size() < static_cast<size_t>(options.batch)) {
        running.push_back(generation.get());
      }
    }
    if (running.empty()) {
      break;
    }
    for (const inference::ForwardRoundResult& result :
         inference::StepTogether(running, transformer, &scratch)) {
      RETURN_IF_ERROR(result.status());
    }
  }
  std::vector<Text> texts;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<inference::TokenId>& tokens = all[i]->tokens();
    texts.push_back({.prompt = i % prompts.size(),
                     .completion = {tokens.begin() + all[i]->prompt_length(), tokens.end()},
                     .forwards = all[i]->forwards()});
  }
  return texts;
}

}  // namespace ruvd::bench
