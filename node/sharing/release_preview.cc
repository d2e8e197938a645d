// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/release_preview.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/adapter_update.h"
#include "federation/masked/messages.h"
#include "federation/patterns/shared_pattern.h"
#include "node/limits.h"
#include "privacy/reasons.h"

namespace ruvd::sharing {
namespace {

absl::Status AddPlainPayloads(const PreviewQuestion& question, const OwnCores& own,
                              ReleasePreview* preview) {
  if (!own.update.banks.empty()) {
    preview->payloads.push_back(federation::EncodeAdapterUpdate(own.update));
  }
  return question.own->ForEachToLeave(
      question.now, [preview](const federation::SharedPattern& pattern) {
        if (preview->payloads.size() < limits::kMaxPreviewPayloads) {
          preview->payloads.push_back(federation::EncodeSharedPattern(pattern));
        } else {
          ++preview->more_payloads;
        }
      });
}

// Returns why nothing would leave, as far as this is known without a charge.
absl::Status Refusal(const PreviewQuestion& question, const OwnCores& own) {
  if (question.tier == privacy::ConsentTier::kPrivate) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
                 "under tier private nothing leaves this node");
  }
  RETURN_IF_ERROR(question.allowed);
  if (question.tier == privacy::ConsentTier::kDp) {
    RETURN_IF_ERROR(question.release->Check());
  }
  if (question.tier == privacy::ConsentTier::kMasked) {
    RETURN_IF_ERROR(
        question.release->CheckMasked(question.release->View(question.tier).contributors));
  }
  if (own.update.banks.empty() && own.left_out > 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
                 "each of the {} patterns contains lessons of a user who did not agree, or lessons "
                 "whose user was not recorded",
                 own.left_out);
  }
  return own.update.banks.empty() ? Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                                          "nothing was learned yet that could be shared; give "
                                          "feedback on completions first")
                                  : absl::OkStatus();
}

absl::StatusOr<CentroidPreview> PreviewCentroids(const PreviewQuestion& question) {
  CentroidPreview preview{.refusal = question.allowed, .release = question.centroids->View()};
  preview.refusal.Update(question.centroids->Check());
  if (!preview.refusal.ok()) {
    return preview;
  }
  ASSIGN_OR_RETURN(const learning::CentroidLessons lessons, question.centroids->NextLessons());
  preview.lessons = lessons.embeddings.size();
  preview.contributors = lessons.contributors.size();
  preview.left_out = lessons.left_out;
  if (preview.lessons < preview.release.examples) {
    preview.refusal = Error(absl::StatusCode::kFailedPrecondition, reasons::kSignalTooWeak,
                            "there are {} lesson(s), but one centroid needs {}; "
                            "collect more feedback, or ask more users for consent",
                            preview.lessons, preview.release.examples);
  }
  return preview;
}

// A share names its round, sender, member set and layout, which are public; everything else is
// masked.
DpRelease::Layout LayoutOfShare(const DpRelease& release) {
  const size_t values = release.View(privacy::ConsentTier::kMasked).values;
  const std::string share =
      federation::EncodeMaskShare({.update = {.values = std::vector<uint32_t>(values)}});
  return {.head = "", .value_bytes = share.size()};
}

}  // namespace

absl::StatusOr<ReleasePreview> PreviewNext(const PreviewQuestion& question) {
  const bool masked = question.tier == privacy::ConsentTier::kMasked;
  ReleasePreview preview{
      .tier = question.tier,
      .layout = masked ? LayoutOfShare(*question.release) : question.release->LayoutOfPayload(),
      .release = question.release->View(question.tier)};
  OwnCores own;
  if (question.tier != privacy::ConsentTier::kPrivate) {
    ASSIGN_OR_RETURN(own, question.own->NextDelta(question.tier, question.now));
  }
  preview.refusal = Refusal(question, own);
  preview.patterns = own.patterns.size();
  preview.left_out = own.left_out;
  preview.contributors = own.contributors.size();
  preview.norm = federation::NormOf(own.update);
  if (question.tier == privacy::ConsentTier::kDp && question.centroids != nullptr) {
    ASSIGN_OR_RETURN(preview.centroids, PreviewCentroids(question));
  }
  if (question.tier == privacy::ConsentTier::kPublic && question.allowed.ok()) {
    RETURN_IF_ERROR(AddPlainPayloads(question, own, &preview));
  }
  return preview;
}

}  // namespace ruvd::sharing
