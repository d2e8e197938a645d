// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/dp_centroids.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/bank.h"
#include "node/log/log.h"
#include "node/sharing/refusal.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/limits.h"
#include "ruvd/admin/v1/admin.pb.h"

namespace ruvd::sharing {
namespace {

constexpr uint8_t kCentroidUse =
    privacy::consent_purposes::kTraining | privacy::consent_purposes::kSharing;
constexpr std::string_view kNoisedTask = "noised centroid";
// A constant, so that it says nothing about the quality of the lessons. By default peers accept
// patterns from 0.25 on.
constexpr float kNoisedQuality = 0.5F;
constexpr int64_t kTryMillis = 3'600'000;
constexpr uint64_t kMaxDoublings = 20;

absl::Status Off() {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
               "noised centroids are not released, because privacy.centroids is off; set it to "
               "true to allow them");
}

}  // namespace

federation::SharedPattern NoisedPatternOf(const privacy::dp::NoisedCentroid& centroid,
                                          const privacy::NodeId& self, uint32_t examples,
                                          int64_t created_ms) {
  federation::SharedPattern pattern{.bank = static_cast<uint32_t>(inference::BankOf(1)),
                                    .task = std::string(kNoisedTask),
                                    .quality = kNoisedQuality,
                                    .examples = examples,
                                    .created_ms = created_ms,
                                    .centroid = centroid.direction};
  // The id depends on the release and the cell. Peers would refuse an id that was used before and
  // has expired, because they take it for a pattern that was removed.
  const auto cell = static_cast<uint8_t>(centroid.cell);
  const std::string moment = ByteWriter().Write(created_ms).Take();
  const Digest name = Sha256({AsBytes(kNoisedTask), self, AsBytes(moment), {&cell, 1}});
  std::copy_n(name.begin(), pattern.id.size(), pattern.id.begin());
  return pattern;
}

bool IsNoised(const federation::SharedPattern& pattern) {
  return pattern.task == kNoisedTask && pattern.cores.empty();
}

DpCentroids::DpCentroids(DpCentroidsOptions options) : options_(std::move(options)) {
  // The noise that costs epsilon as the ledger counts, in a release that samples nothing.
  const absl::StatusOr<double> multiplier =
      privacy::dp::NoiseMultiplierWithin(options_.epsilon, options_.delta, /*q=*/1, /*steps=*/1);
  usable_ = multiplier.status();
  if (multiplier.ok()) {
    const auto terms =
        privacy::dp::MakeCentroidTerms(*multiplier, options_.dimension, options_.examples);
    usable_ = terms.status();
    terms_ = terms.value_or(privacy::dp::CentroidTerms());
  }
  if (usable_.ok()) {
    const absl::StatusOr<privacy::LedgerCharge> charge = privacy::ChargeOf(Terms());
    usable_ = charge.status();
    charge_ = charge.value_or(privacy::LedgerCharge());
  }
  if (options_.ledger != nullptr && usable_.ok()) {
    ReadLedger();
  }
}

std::unique_ptr<DpCentroids> DpCentroids::Create(DpCentroidsOptions options) {
  return std::unique_ptr<DpCentroids>(new DpCentroids(std::move(options)));
}

privacy::CentroidReleaseTerms DpCentroids::Terms() const {
  return {.scope = options_.scope,
          .centroids = terms_,
          .delta = options_.delta,
          .space = options_.space};
}

// All charges of lessons outside rounds count, even those for another model, because they concern
// the same lessons.
void DpCentroids::ReadLedger() {
  uint64_t releases = 0;
  int64_t last_ms = 0;
  const absl::Status read = options_.ledger->ForEach([&](const privacy::LedgerEntry& entry) {
    if (entry.kind == privacy::LedgerKind::kReserve && entry.charge &&
        entry.charge->unit == privacy::PrivacyUnit::kLesson && entry.charge->round == 0) {
      ++releases;
      last_ms = std::max(last_ms, entry.wall_ms);
    }
    return true;
  });
  if (!read.ok()) {
    usable_ = read;
  }
  const MutexLock lock(mutex_);
  releases_ = releases;
  last_ms_ = last_ms;
}

int64_t DpCentroids::NextMillis() const {
  if (releases_ == 0) {
    return 0;
  }
  const auto interval =
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.interval).count();
  return last_ms_ + (interval << std::min(releases_ - 1, kMaxDoublings));
}

bool DpCentroids::Due() const {
  const int64_t now_ms = options_.clock->WallMillis();
  const MutexLock lock(mutex_);
  const bool tried = tried_ms_ != 0 && now_ms >= tried_ms_ && now_ms - tried_ms_ < kTryMillis;
  return options_.enabled && !tried && now_ms >= NextMillis();
}

absl::StatusOr<double> DpCentroids::SpentEpsilon() const {
  if (options_.ledger == nullptr) {
    return 0;
  }
  return options_.ledger->LargestEpsilon(privacy::PrivacyUnit::kLesson, options_.delta);
}

absl::Status DpCentroids::Check() const {
  if (!options_.enabled) {
    return Off();
  }
  RETURN_IF_ERROR(options_.policy.Require(options_.scope, kCentroidUse, privacy::ConsentTier::kDp));
  if (options_.ledger == nullptr) {
    return options_.unavailable;
  }
  if (!usable_.ok()) {
    return Annotate(usable_,
                    "no noise level fits privacy.centroid_epsilon and privacy.delta; change one of "
                    "them");
  }
  RETURN_IF_ERROR(privacy::dp::RequireCentroidSnr(terms_));
  return options_.ledger->Check(charge_);
}

absl::StatusOr<learning::CentroidLessons> DpCentroids::NextLessons() const {
  return options_.lessons(options_.clock->WallMillis());
}

absl::StatusOr<NoisedPatterns> DpCentroids::ChargeAndRelease(
    const privacy::ConsentRegister& consents) {
  RETURN_IF_ERROR(Check());
  ASSIGN_OR_RETURN(learning::CentroidLessons lessons, NextLessons());
  if (lessons.not_embedded > 0) {
    LogInfo("{} lesson(s) have no embedding of this model and are not in noised centroids",
            lessons.not_embedded);
  }
  const std::vector<std::span<const float>> views(lessons.embeddings.begin(),
                                                  lessons.embeddings.end());
  const int64_t now_ms = options_.clock->WallMillis();
  const privacy::ReleaseGuards guards{.policy = options_.policy,
                                      .consents = consents,
                                      .node_tier = privacy::ConsentTier::kDp,
                                      .ledger = *options_.ledger,
                                      .random = options_.random,
                                      .now_ms = now_ms};
  const uint64_t before = options_.ledger->totals(privacy::PrivacyUnit::kLesson).reservations;
  const absl::StatusOr<privacy::PreparedCentroids> prepared = privacy::PrepareCentroids(
      Terms(), guards, {.embeddings = views, .contributors = lessons.contributors});
  if (options_.ledger->totals(privacy::PrivacyUnit::kLesson).reservations != before) {
    const MutexLock lock(mutex_);  // also for a release that failed after its charge
    ++releases_;
    last_ms_ = now_ms;
  }
  RETURN_IF_ERROR(prepared.status());
  // From here on peers may get the release.
  if (absl::Status noted = options_.ledger->Release(prepared->reservation); !noted.ok()) {
    LogWarning("release {} was charged, but could not be marked as sent: {}", prepared->reservation,
               MessageOf(noted));
  }
  NoisedPatterns noised{.contributors = std::move(lessons.contributors)};
  for (const privacy::dp::NoisedCentroid& centroid : prepared->centroids) {
    noised.patterns.push_back(NoisedPatternOf(centroid, options_.self, options_.examples, now_ms));
  }
  return noised;
}

absl::StatusOr<NoisedPatterns> DpCentroids::Release(const privacy::ConsentRegister& consents) {
  absl::StatusOr<NoisedPatterns> noised = ChargeAndRelease(consents);
  {
    const MutexLock lock(mutex_);
    tried_ms_ = options_.clock->WallMillis();
    if (!noised.ok() && ReasonOf(refusal_) != ReasonOf(noised.status())) {
      LogWarning("no noised centroids were released: {} [{}]", MessageOf(noised.status()),
                 ReasonOf(noised.status()));
    }
    refusal_ = noised.status();
  }
  if (noised.ok()) {
    const admin::v1::CentroidStatus view = View();
    LogInfo(
        "released {} noised centroid(s): epsilon {:.3f} at delta {:.1e} for each lesson; {:.3f} of "
        "{:.3f} spent, including noised contributions",
        noised->patterns.size(), view.epsilon(), view.delta(), view.spent_epsilon(),
        view.budget_epsilon());
  }
  return noised;
}

admin::v1::CentroidStatus DpCentroids::View() const {
  admin::v1::CentroidStatus view;
  view.set_enabled(options_.enabled);
  view.set_delta(options_.delta);
  view.set_examples(options_.examples);
  view.set_most(limits::kCentroidCells);
  view.set_budget_epsilon(options_.budget_epsilon);
  if (usable_.ok()) {
    view.set_epsilon(charge_.epsilon);
    view.set_noise_multiplier(charge_.sigma);
    view.set_predicted_snr(privacy::dp::SnrOf(terms_));
    const federation::SharedPattern any = NoisedPatternOf(
        {.direction = std::vector<float>(options_.dimension)}, options_.self, options_.examples, 1);
    view.set_payload_bytes(federation::EncodeSharedPattern(any).size());
  }
  view.set_spent_epsilon(SpentEpsilon().value_or(0));
  const MutexLock lock(mutex_);
  view.set_releases(releases_);
  view.set_last_ms(last_ms_);
  view.set_next_ms(NextMillis());
  WriteRefusal(refusal_, &view);
  return view;
}

}  // namespace ruvd::sharing
