// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/word_guidance.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "node/serving/adapters_by_words.h"

namespace ruvd::serving {

class WordGuidance::Guided final : public RequestExtension {
 public:
  explicit Guided(bool every_step) : every_step_(every_step) {}

  void BeforeFirstForward(ServedRequest& request, inference::Transformer& transformer) override {
    all_ = request.adapters();
    mask_ = transformer.model().tokenizer().mask_id();
    const std::vector<inference::TokenId>& tokens = request.generation().tokens();
    words_.emplace(std::span(all_.parts).first(all_.from_catalog),
                   std::span(tokens).first(PromptOf(request)));
    if (!words_->decide()) {
      words_.reset();
      return;
    }
    cached_ = request.mode() != inference::DecodingMode::kDiffusion ||
              request.job().options.approximate_cache_steps > 0;
    factors_ = std::vector<float>(all_.from_catalog, 1.0F);
    Decide(request);
  }

  void AfterStep(ServedRequest& request, const inference::StepResult& step) override {
    if (!words_ || !every_step_ || step.done) {
      return;
    }
    written_ += static_cast<int>(step.commits.size());
    if (cached_ && written_ < kWordsBetweenChoices) {
      return;
    }
    written_ = 0;
    Decide(request);
  }

 private:
  static size_t PromptOf(const ServedRequest& request) {
    return static_cast<size_t>(request.generation().prompt_length());
  }

  void Decide(ServedRequest& request) {
    const std::vector<inference::TokenId>& tokens = request.generation().tokens();
    std::vector<float> factors =
        words_->Factors(std::span(tokens).subspan(PromptOf(request)), mask_);
    if (factors == factors_) {
      return;
    }
    factors_ = std::move(factors);
    // The adapters of patterns stay: another extension may have changed them meanwhile.
    const ChosenAdapters& now = request.adapters();
    ChosenAdapters next = all_;
    next.parts.resize(all_.from_catalog);
    next.uses.resize(all_.from_catalog);
    const auto patterns = static_cast<ptrdiff_t>(now.from_catalog);
    next.parts.insert(next.parts.end(), now.parts.begin() + patterns, now.parts.end());
    next.uses.insert(next.uses.end(), now.uses.begin() + patterns, now.uses.end());
    next = next.WithFactors(factors_);
    request.SetAdapters(std::move(next));
  }

  const bool every_step_;
  ChosenAdapters all_;                    // before words decide
  std::optional<AdaptersByWords> words_;  // nullopt: words decide nothing
  std::optional<inference::TokenId> mask_;
  std::vector<float> factors_;  // in force
  bool cached_ = false;         // steps go on from cached keys and values
  int written_ = 0;             // tokens since the last decision
};

std::unique_ptr<RequestExtension> WordGuidance::Extend(const GenerationJob& job) {
  return job.use_adapters && job.adapters.empty() ? std::make_unique<Guided>(every_step_) : nullptr;
}

}  // namespace ruvd::serving
