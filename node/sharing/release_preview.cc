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
#include "node/sharing/refusal.h"
#include "privacy/reasons.h"

namespace ruvd::sharing {
namespace {

absl::Status AddPlainPayloads(const PreviewInput& question, const OwnCores& own,
                              admin::v1::PreviewReleaseResponse* preview) {
  if (!own.update.banks.empty()) {
    preview->add_payloads(federation::EncodeAdapterUpdate(own.update));
  }
  return question.own->ForEachShareable(
      question.now, [preview](const federation::SharedPattern& pattern) {
        if (static_cast<size_t>(preview->payloads_size()) < limits::kMaxPreviewPayloads) {
          preview->add_payloads(federation::EncodeSharedPattern(pattern));
        } else {
          preview->set_more_payloads(preview->more_payloads() + 1);
        }
      });
}

// Returns why nothing would leave, as far as this is known without a charge.
absl::Status Refusal(const PreviewInput& question, const OwnCores& own) {
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
        question.release->CheckMasked(question.release->View(question.tier).contributors()));
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

absl::Status PreviewCentroids(const PreviewInput& question, admin::v1::CentroidPreview* preview) {
  *preview->mutable_release() = question.centroids->View();
  absl::Status refusal = question.allowed;
  refusal.Update(question.centroids->Check());
  if (refusal.ok()) {
    ASSIGN_OR_RETURN(const learning::CentroidLessons lessons, question.centroids->NextLessons());
    preview->set_lessons(lessons.embeddings.size());
    preview->set_contributors(lessons.contributors.size());
    preview->set_left_out(lessons.left_out);
    if (preview->lessons() < preview->release().examples()) {
      refusal = Error(absl::StatusCode::kFailedPrecondition, reasons::kSignalTooWeak,
                      "there are {} lesson(s), but one centroid needs {}; "
                      "collect more feedback, or ask more users for consent",
                      preview->lessons(), preview->release().examples());
    }
  }
  WriteRefusal(refusal, preview);
  return absl::OkStatus();
}

// A share names its round, sender, member set and layout, which are public; everything else is
// masked.
DpRelease::Layout LayoutOfShare(const DpRelease& release) {
  const size_t values = release.View(privacy::ConsentTier::kMasked).values();
  const std::string share =
      federation::EncodeMaskShare({.update = {.values = std::vector<uint32_t>(values)}});
  return {.head = "", .value_bytes = share.size()};
}

}  // namespace

absl::StatusOr<admin::v1::PreviewReleaseResponse> PreviewNextRelease(const PreviewInput& question) {
  admin::v1::PreviewReleaseResponse preview;
  preview.set_tier(static_cast<pattern::v1::SharingTier>(question.tier));
  *preview.mutable_release() = question.release->View(question.tier);
  OwnCores own;
  if (question.tier != privacy::ConsentTier::kPrivate) {
    ASSIGN_OR_RETURN(own, question.own->NextDelta(question.tier, question.now));
  }
  WriteRefusal(Refusal(question, own), &preview);
  preview.set_patterns(own.patterns.size());
  preview.set_left_out(own.left_out);
  preview.set_contributors(own.contributors.size());
  if (question.tier == privacy::ConsentTier::kDp ||
      question.tier == privacy::ConsentTier::kMasked) {
    const bool masked = question.tier == privacy::ConsentTier::kMasked;
    DpRelease::Layout layout =
        masked ? LayoutOfShare(*question.release) : question.release->LayoutOfPayload();
    preview.set_head(std::move(layout.head));
    preview.set_value_bytes(layout.value_bytes);
    preview.set_norm(federation::NormOf(own.update));
  }
  if (question.tier == privacy::ConsentTier::kDp && question.centroids != nullptr) {
    RETURN_IF_ERROR(PreviewCentroids(question, preview.mutable_centroids()));
  }
  if (question.tier == privacy::ConsentTier::kPublic && question.allowed.ok()) {
    RETURN_IF_ERROR(AddPlainPayloads(question, own, &preview));
  }
  return preview;
}

}  // namespace ruvd::sharing
