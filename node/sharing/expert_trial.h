// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/talora.h"
#include "inference/tokenizer/tokenizer.h"
#include "node/learning/general_text_gate.h"
#include "node/learning/learning_services.h"
#include "node/serving/adapter_catalog.h"
#include "node/sharing/judging_texts.h"

namespace ruvd::sharing {

// What this node knows of a peer's expert.
enum class ExpertStanding : uint8_t {
  kTrial,    // it waits for its trial, or for texts that can judge it
  kServing,  // it serves requests whose words choose it
  // Refused: not usable here, worse on this node's texts, worse on general text, rated badly
  kUnusable,
  kTextsWorse,
  kGeneralTextWorse,
  kRatedBadly,
};
// "trial", "serving", "unusable", "texts_worse", "general_text_worse" or "rated_badly"
std::string_view ExpertStandingName(ExpertStanding standing);

// Reads an expert from its payload. It has the name `name`, and the version that the payload says.
// Returns the errors of DecodeSharedExpert and ParseTaloraFile, and ADAPTER_INVALID for one without
// words of its lessons, which nothing could choose.
absl::StatusOr<std::shared_ptr<const inference::Talora>> ReadExpertPayload(
    std::string_view payload, const inference::Model& model, const std::string& name);

struct ExpertTrialOptions {
  float min_rating = 0.7F;  // lowest rating of a lesson that judges
  // Least number of this node's texts that choose the expert: fewer do not show whether it helps.
  size_t least_texts = 4;
  // Texts may lose up to so many standard errors before the expert is refused; to serve, it must
  // gain more than one.
  double standard_errors = 2;
  // General text in passages of at least two tokens that fit the context; empty: the built-in ones
  std::vector<std::vector<inference::TokenId>> general;
};

// The result of a trial. Losses and gains are in nats per token; a gain is above 0 if the expert
// helps.
struct ExpertVerdict {
  ExpertStanding standing = ExpertStanding::kUnusable;
  std::string why;      // the error of an unusable one
  bool scored = false;  // false: too few texts, or no more than before, so it stays on trial
  size_t texts = 0;     // texts of this node that choose the expert
  double gain = 0;
  double standard_error = 0;
  double general_before = 0;  // mean over the passages; both are 0 if texts decided before
  double general_after = 0;
  std::shared_ptr<const inference::Talora> adapter;  // what was judged; null if it is unusable
};

// Judges experts of peers before they serve: on what this node's own users wrote (the newest
// prompts, and evaluation lessons), as far as its words would choose the expert. It is measured as
// it would be served, by words and on top of what requests get without choosing. It serves if these
// texts gain more than one standard error and general text loses at most half a percent
// (GeneralTextGate); it is refused if they lose more than two, or if general text loses more. In
// between, and with too few texts, it stays on trial, so an expert of a liar acts on nothing until
// it has helped. Only one thread may use an object at a time.
class ExpertTrial {
 public:
  explicit ExpertTrial(ExpertTrialOptions options)
      : options_(std::move(options)), general_(options_.general) {}

  float min_rating() const { return options_.min_rating; }

  // Judges the payload of an expert of `peer` (SharedExpert). Nothing is scored unless more texts
  // than `former_texts` choose it. Returns CANCELLED and the errors of the stores, of
  // AdapterCatalog::Choose and of the forward pass; such an expert must stay on trial.
  absl::StatusOr<ExpertVerdict> Judge(const learning::LearningServices& services,
                                      const Digest& peer, std::string_view payload,
                                      size_t former_texts);

 private:
  // Returns texts of this node whose words choose `part`, at most limits::kMaxTrialLessons, and
  // counts all of them.
  absl::StatusOr<std::vector<JudgingText>> TextsOf(const learning::LearningServices& services,
                                                   std::vector<serving::RangedPart> beneath,
                                                   const serving::RangedPart& part,
                                                   size_t* count) const;
  absl::Status JudgeByGeneralText(const learning::LearningServices& services,
                                  const std::vector<serving::RangedPart>& beneath,
                                  const serving::RangedPart& part, ExpertVerdict* verdict);

  const ExpertTrialOptions options_;
  learning::GeneralTextGate general_;
};

}  // namespace ruvd::sharing
