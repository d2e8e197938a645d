// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/release_preview.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/learner/local_round.h"
#include "federation/learner/plan.h"
#include "federation/masked/messages.h"
#include "federation/patterns/shared_expert.h"
#include "federation/patterns/shared_pattern.h"
#include "node/limits.h"
#include "node/sharing/refusal.h"
#include "privacy/reasons.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::sharing {
namespace {

absl::Status AddPatterns(const PreviewInput& question,
                         privacy::v1::PreviewReleaseResponse* preview) {
  return question.own->ForEachShareable(
      question.now, [preview](const federation::SharedPattern& pattern) {
        if (static_cast<size_t>(preview->payloads_size()) < limits::kMaxPreviewPayloads) {
          preview->add_payloads(federation::EncodeSharedPattern(pattern));
        } else {
          preview->set_more_payloads(preview->more_payloads() + 1);
        }
      });
}

// Splits the payload of a noised contribution into what is known before the noise, and the values.
absl::Status AddLayout(const ContributionRequest& request,
                       privacy::v1::PreviewReleaseResponse* preview) {
  const federation::LearnerPlan& plan = *request.plan;
  const size_t values = plan.banks() * size_t{plan.values_per_bank};
  ASSIGN_OR_RETURN(const federation::Contribution zeros,
                   federation::GradientContribution(plan, request.round, *request.base,
                                                    std::vector<int32_t>(values),
                                                    federation::Contribution::Noise::kWhole));
  std::string payload = federation::EncodeContribution(zeros, plan);
  preview->set_values(values);
  preview->set_value_bytes(values * sizeof(int16_t));  // zeros fit two bytes
  payload.resize(payload.size() - preview->value_bytes());
  preview->set_head(std::move(payload));
  return absl::OkStatus();
}

// A share names its round, sender, member set and layout, which are public; everything else is
// masked.
void AddShare(const ContributionRequest& request, privacy::v1::PreviewReleaseResponse* preview) {
  const size_t values = federation::LayoutOfSums(*request.plan).Values();
  preview->set_values(values);
  preview->set_value_bytes(
      federation::EncodeMaskShare({.update = {.values = std::vector<uint32_t>(values)}}).size());
}

absl::Status NoLesson() {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
               "no lesson may take part in this round under this tier; new ones wait for the next "
               "round. Add texts with `ruvd learn add --tier`, give feedback, or ask the users to "
               "allow it");
}

absl::Status AddOpen(const LocalContributor& contributor,
                     const learning::LearningServices& services, const ContributionRequest& request,
                     privacy::v1::PreviewReleaseResponse* preview) {
  ASSIGN_OR_RETURN(const std::optional<LocalContribution> made,
                   contributor.Make(services, request));
  if (!made) {
    return NoLesson();
  }
  preview->set_lessons(made->lessons);
  preview->set_contributors(made->contributors.size());
  *preview->mutable_payloads()->Add() =
      federation::EncodeContribution(made->contribution, *request.plan);
  for (int i = preview->payloads_size() - 1; i > 0; --i) {
    preview->mutable_payloads()->SwapElements(i, i - 1);
  }
  return absl::OkStatus();
}

absl::Status AddNoised(const LocalContributor& contributor,
                       const learning::LearningServices& services,
                       const ContributionRequest& request,
                       privacy::v1::PreviewReleaseResponse* preview) {
  *preview->mutable_release() = contributor.View(request.plan);
  ASSIGN_OR_RETURN(const LessonSampling sampling, contributor.Plan(services, request));
  preview->set_lessons(sampling.names.size());
  preview->set_contributors(sampling.contributors.size());
  if (request.tier == privacy::ConsentTier::kMasked) {
    AddShare(request, preview);
  } else {
    RETURN_IF_ERROR(AddLayout(request, preview));
  }
  return sampling.names.empty() ? NoLesson() : absl::OkStatus();
}

}  // namespace

absl::StatusOr<privacy::v1::PreviewReleaseResponse> PreviewPatterns(const PreviewInput& question) {
  privacy::v1::PreviewReleaseResponse preview;
  preview.set_tier(static_cast<privacy::v1::SharingTier>(question.tier));
  if (question.tier == privacy::ConsentTier::kPrivate) {
    WriteRefusal(Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
                       "under tier private nothing leaves this node"),
                 &preview);
    return preview;
  }
  WriteRefusal(question.allowed, &preview);
  if (question.tier == privacy::ConsentTier::kPublic && question.allowed.ok()) {
    if (question.expert != nullptr) {
      preview.add_payloads(federation::EncodeSharedExpert(question.expert->expert));
    }
    RETURN_IF_ERROR(AddPatterns(question, &preview));
  }
  return preview;
}

void AddContribution(const LocalContributor& contributor,
                     const learning::LearningServices& services, const ContributionRequest& request,
                     privacy::v1::PreviewReleaseResponse* preview) {
  const absl::Status added = request.tier == privacy::ConsentTier::kPublic
                                 ? AddOpen(contributor, services, request, preview)
                                 : AddNoised(contributor, services, request, preview);
  WriteRefusal(added, preview);
}

absl::Status NoFrameForRounds() {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
               "this node takes part in no rounds, because its model has no frame; make one with "
               "`ruvd model frame`");
}

}  // namespace ruvd::sharing
