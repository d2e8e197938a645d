// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/dp_release.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/log/log.h"
#include "node/sharing/refusal.h"
#include "node/sharing/shared_items.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "privacy/release/release_payload.h"
#include "ruvd/admin/v1/admin.pb.h"

namespace ruvd::sharing {
namespace {

constexpr uint8_t kReleasedUse =
    privacy::consent_purposes::kTraining | privacy::consent_purposes::kSharing;

// The earlier charges of the ledger for updates and shares. Centroids are charged to another unit.
struct Charged {
  int64_t last_ms = 0;  // time of the last charge for an update or a share
  bool sums = false;    // whether a share was charged
};

Charged ChargedIn(const storage::PrivacyLedgerStore& ledger) {
  Charged charged;
  const absl::Status read = ledger.ForEach([&charged](const privacy::LedgerEntry& entry) {
    if (entry.kind == privacy::LedgerKind::kReserve && entry.charge &&
        entry.charge->unit == privacy::PrivacyUnit::kNode) {
      charged.last_ms = std::max(charged.last_ms, entry.wall_ms);
      charged.sums |= entry.charge->mechanism == privacy::PrivacyMechanism::kDistributedGaussian;
    }
    return true;
  });
  if (!read.ok()) {
    LogWarning("the time of the last release is unknown: {}", MessageOf(read));
  }
  return charged;
}

// Returns the released values by bank; a release holds them one after the other.
federation::BankedValues ValuesOf(const privacy::ReleasePayload& payload,
                                  const UpdateLayout& layout) {
  federation::BankedValues banks;
  for (size_t begin = 0; begin < payload.units.size(); begin += layout.values_per_bank()) {
    std::vector<float>& values = banks.emplace_back();
    for (const int32_t unit : std::span(payload.units).subspan(begin, layout.values_per_bank())) {
      values.push_back(std::ldexp(static_cast<float>(unit), payload.exponent));
    }
  }
  return banks;
}

}  // namespace

std::vector<std::span<float>> BanksOf(federation::AdapterUpdate& update) {
  std::vector<std::span<float>> banks;
  banks.reserve(update.banks.size());
  for (federation::BankValues& bank : update.banks) {
    banks.emplace_back(bank.values);
  }
  return banks;
}

absl::StatusOr<privacy::dp::NoiseGrid> GridWithin(double epsilon, double delta, double clip_norm,
                                                  size_t values) {
  ASSIGN_OR_RETURN(const double rho, privacy::dp::RhoForEpsilon(epsilon, delta));
  return privacy::dp::MakeNoiseGrid(clip_norm, 1 / std::sqrt(2 * rho), values);
}

DpRelease::DpRelease(DpReleaseOptions options) : options_(std::move(options)) {
  const absl::StatusOr<privacy::dp::NoiseGrid> grid =
      GridWithin(options_.epsilon, options_.delta, options_.clip_norm, options_.layout.values());
  usable_ = grid.status();
  if (grid.ok()) {
    grid_ = *grid;
    const auto cost = privacy::dp::FixedPointRho(privacy::dp::GaussianRho(grid_.NoiseMultiplier()));
    usable_.Update(cost.status());
    cost_ = cost.value_or(0);
  }
  if (options_.ledger != nullptr) {
    const Charged charged = ChargedIn(*options_.ledger);
    last_ms_ = charged.last_ms;
    sums_ = charged.sums;
  }
}

std::unique_ptr<DpRelease> DpRelease::Create(DpReleaseOptions options) {
  return std::unique_ptr<DpRelease>(new DpRelease(std::move(options)));
}

privacy::ReleaseTerms DpRelease::Terms() const {
  return {.scope = options_.scope,
          .unit = privacy::PrivacyUnit::kNode,
          .layout = {.model_hash = options_.layout.model_hash,
                     .frame_id = options_.layout.frame->id,
                     .bank_values = std::vector<uint32_t>(
                         options_.layout.banks(),
                         static_cast<uint32_t>(options_.layout.values_per_bank())),
                     .grid = grid_},
          .delta = options_.delta,
          .contributors = static_cast<double>(contributors()),
          .signal = options_.signal};
}

absl::Status DpRelease::CheckTier(privacy::ConsentTier tier) const {
  if (tier == privacy::ConsentTier::kPrivate) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(options_.policy.Require(options_.scope, kReleasedUse, tier));
  if (tier == privacy::ConsentTier::kPublic) {
    return absl::OkStatus();
  }
  if (options_.ledger == nullptr) {
    return options_.unavailable;
  }
  return usable_.ok() ? absl::OkStatus()
                      : Annotate(usable_,
                                 "no noise level fits privacy.clip_norm, privacy.release_epsilon "
                                 "and federation.core_rank; change one of them");
}

bool DpRelease::Due() {
  const int64_t now_ms = options_.clock->WallMillis();
  const auto interval_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.interval).count();
  const MutexLock lock(mutex_);
  if (last_ms_ == 0) {
    return true;
  }
  last_ms_ = std::min(last_ms_, now_ms);
  return now_ms - last_ms_ >= interval_ms;
}

uint64_t DpRelease::SpentUnits() const {
  return options_.ledger == nullptr ? 0
                                    : options_.ledger->totals(privacy::PrivacyUnit::kNode).rho_q32;
}

void DpRelease::SetContributors(size_t contributors) {
  const MutexLock lock(mutex_);
  contributors_ = std::max<size_t>(contributors, 1);
}

size_t DpRelease::contributors() const {
  const MutexLock lock(mutex_);
  return contributors_;
}

privacy::dp::SnrParameters DpRelease::MakeSnrParameters() const {
  return {.noise_multiplier = grid_.NoiseMultiplier(),
          .dimension = options_.layout.values(),
          .contributors = static_cast<double>(contributors()),
          .signal = options_.signal};
}

double DpRelease::MinEpsilonFor(
    const std::function<bool(const privacy::dp::NoiseGrid&)>& suffices) const {
  // Noise is a whole number of units, so a little more epsilon may change nothing.
  privacy::dp::NoiseGrid grid = grid_;
  uint32_t enough = 0;
  for (uint32_t too_much = grid_.sigma_units; enough + 1 < too_much;) {
    grid.sigma_units = enough + (too_much - enough) / 2;
    (suffices(grid) ? enough : too_much) = grid.sigma_units;
  }
  if (enough == 0) {
    return 0;
  }
  grid.sigma_units = enough;
  const double least =
      privacy::dp::EpsilonOfRho(privacy::dp::GaussianRho(grid.NoiseMultiplier()), options_.delta)
          .value_or(0);
  // The value computed back from it may miss the unit by a rounding error.
  constexpr double kStep = 1.0001;
  constexpr int kSteps = 100;  // together one per cent
  double epsilon = least;
  for (int step = 0; step < kSteps; ++step, epsilon *= kStep) {
    const absl::StatusOr<privacy::dp::NoiseGrid> given =
        GridWithin(epsilon, options_.delta, options_.clip_norm, options_.layout.values());
    if (given.ok() && given->sigma_units <= enough) {
      return epsilon;
    }
  }
  return 0;
}

void DpRelease::WriteSnrRequirements(
    const privacy::dp::SnrParameters& question,
    const std::function<bool(const privacy::dp::NoiseGrid&)>& suffices,
    admin::v1::ReleaseStatus* view) const {
  const absl::StatusOr<privacy::dp::SnrRequirements> needs =
      privacy::dp::ComputeSnrRequirements(question);
  if (view->predicted_snr() >= limits::kMinReleaseSnr || !needs.ok()) {
    return;
  }
  view->set_needed_epsilon(MinEpsilonFor(suffices));
  view->set_needed_contributors(std::ceil(needs->contributors));
  view->set_needed_values(needs->dimension);
}

absl::Status DpRelease::Check() const {
  RETURN_IF_ERROR(CheckTier(privacy::ConsentTier::kDp));
  RETURN_IF_ERROR(privacy::dp::RequireSnr(MakeSnrParameters()));
  return privacy::CheckNodeBudget({&options_.budget, 1}, SpentUnits(), cost_);
}

privacy::ReleaseGuards DpRelease::Guards(privacy::ConsentTier tier,
                                         const privacy::ConsentRegister& consents) const {
  return {.policy = options_.policy,
          .consents = consents,
          .node_tier = tier,
          .ledger = *options_.ledger,
          .random = options_.random,
          .now_ms = options_.clock->WallMillis()};
}

absl::StatusOr<privacy::PreparedRelease> DpRelease::Prepare(
    federation::AdapterUpdate* update, std::span<const privacy::Contributor> whose,
    const privacy::ConsentRegister& consents) {
  RETURN_IF_ERROR(Check());
  const std::vector<std::span<float>> banks = BanksOf(*update);
  return PrepareRelease(Terms(), Guards(privacy::ConsentTier::kDp, consents),
                        {.banks = banks, .contributors = whose});
}

absl::StatusOr<federation::AdapterUpdate> DpRelease::Release(
    federation::AdapterUpdate update, std::span<const privacy::Contributor> whose,
    const privacy::ConsentRegister& consents) {
  const uint64_t before = SpentUnits();
  const absl::StatusOr<privacy::PreparedRelease> prepared = Prepare(&update, whose, consents);
  RecordAttempt(before, prepared.status(), /*share=*/false);
  RETURN_IF_ERROR(prepared.status());
  ASSIGN_OR_RETURN(const privacy::ReleasePayload payload,
                   privacy::ReleasePayload::Parse(AsBytes(prepared->bytes)));
  RecordSent(prepared->reservation);
  const admin::v1::ReleaseStatus view = View(privacy::ConsentTier::kDp);
  LogInfo(
      "released an update of {} values: epsilon {:.3f} at delta {:.1e} (node level), predicted SNR "
      "{:.2f} over {} node(s); epsilon {:.3f} of {:.3f} spent",
      payload.units.size(), prepared->forecast.charge.epsilon, options_.delta,
      prepared->forecast.snr, view.contributors(), view.spent_epsilon(), view.budget_epsilon());
  return UpdateOfBanks(options_.layout, ValuesOf(payload, options_.layout), /*examples=*/0);
}

void DpRelease::RecordAttempt(uint64_t spent, const absl::Status& status, bool share) {
  if (SpentUnits() != spent) {  // also for a release that failed after its charge
    const MutexLock lock(mutex_);
    last_ms_ = std::max<int64_t>(options_.clock->WallMillis(), 1);
    sums_ |= share;
    tried_ = true;
    refusal_ = absl::OkStatus();
  }
  if (!status.ok()) {
    RecordRefusal(status);
  }
}

void DpRelease::RecordSent(uint64_t reservation) {
  if (const absl::Status noted = options_.ledger->Release(reservation); !noted.ok()) {
    LogWarning("release {} was charged, but could not be marked as sent: {}", reservation,
               MessageOf(noted));
  }
}

void DpRelease::RecordRefusal(const absl::Status& status) {
  const MutexLock lock(mutex_);
  if (!status.ok() && ReasonOf(refusal_) != ReasonOf(status)) {
    ++refused_;
    LogWarning("no update is released; the node still serves and receives: {} [{}]",
               MessageOf(status), ReasonOf(status));
  }
  refusal_ = status;
  tried_ = true;
}

void DpRelease::SetTier(privacy::ConsentTier tier) {
  const MutexLock lock(mutex_);
  if (std::exchange(tier_, tier) != tier) {
    refusal_ = absl::OkStatus();
    tried_ = false;
  }
}

absl::Status DpRelease::CurrentRefusal(privacy::ConsentTier tier) const {
  switch (tier) {
    case privacy::ConsentTier::kDp:
      return Check();
    case privacy::ConsentTier::kMasked:
      return CheckMasked(MembersOfSum());
    default:
      return options_.ledger == nullptr ? options_.unavailable : absl::OkStatus();
  }
}

admin::v1::ReleaseStatus DpRelease::View() const {
  privacy::ConsentTier tier;
  {
    const MutexLock lock(mutex_);
    tier = tier_;
  }
  return View(tier);
}

admin::v1::ReleaseStatus DpRelease::View(privacy::ConsentTier tier) const {
  admin::v1::ReleaseStatus view;
  view.set_scope(options_.scope);
  view.set_clip_norm(options_.clip_norm);
  view.set_delta(options_.delta);
  view.set_values(options_.layout.values());
  view.set_contributors(contributors());
  view.set_budget_epsilon(options_.budget.epsilon);
  if (usable_.ok() && tier == privacy::ConsentTier::kMasked) {
    WriteMasked(&view);
  } else if (usable_.ok()) {
    view.set_noise_multiplier(grid_.NoiseMultiplier());
    view.set_epsilon(privacy::EpsilonOfUnits(cost_, options_.delta).value_or(0));
    view.set_predicted_snr(privacy::dp::PredictSnr(MakeSnrParameters()).value_or(0));
    const auto suffices = [question =
                               MakeSnrParameters()](const privacy::dp::NoiseGrid& grid) mutable {
      question.noise_multiplier = grid.NoiseMultiplier();
      return privacy::dp::RequireSnr(question).ok();
    };
    WriteSnrRequirements(MakeSnrParameters(), suffices, &view);
  }
  view.set_spent_epsilon(privacy::EpsilonOfUnits(SpentUnits(), options_.delta).value_or(0));
  if (options_.ledger != nullptr) {
    view.set_releases(options_.ledger->totals(privacy::PrivacyUnit::kNode).reservations);
  } else if (!options_.unavailable.ok()) {
    view.set_unknown(MessageOf(options_.unavailable));
    view.set_unknown_reason(ReasonOf(options_.unavailable));
  }
  WriteTries(CurrentRefusal(tier), &view);
  return view;
}

void DpRelease::WriteTries(const absl::Status& refusal_now, admin::v1::ReleaseStatus* view) const {
  const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(options_.interval);
  const MutexLock lock(mutex_);
  view->set_sums(sums_);
  view->set_refusals(refused_);
  view->set_last_ms(last_ms_);
  view->set_next_ms(last_ms_ == 0 ? 0 : last_ms_ + interval.count());
  WriteRefusal(tried_ ? refusal_ : refusal_now, view);
}

DpRelease::Layout DpRelease::LayoutOfPayload() const {
  const UpdateLayout& layout = options_.layout;
  const federation::BankedValues zeros(layout.banks(),
                                       std::vector<float>(layout.values_per_bank()));
  const std::string bytes =
      federation::EncodeAdapterUpdate(UpdateOfBanks(layout, zeros, /*examples=*/0));
  const size_t value_bytes =
      layout.values() * sizeof(float) + (layout.banks() - 1) * sizeof(uint32_t);
  return {.head = bytes.substr(0, bytes.size() - value_bytes), .value_bytes = value_bytes};
}

}  // namespace ruvd::sharing
