// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of DpRelease for masked sums: a share is charged like a release of the node's own.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/sharing/dp_release.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "ruvd/admin/v1/admin.pb.h"

namespace ruvd::sharing {

privacy::ReleaseTerms DpRelease::TermsOfSum() const {
  privacy::ReleaseTerms terms = Terms();
  terms.layout.colluders = limits::kMaskColluders;
  return terms;
}

absl::StatusOr<privacy::masking::MaskLayout> DpRelease::LayoutOfSums() const {
  RETURN_IF_ERROR(usable_);
  privacy::masking::MaskLayout layout = TermsOfSum().layout;
  RETURN_IF_ERROR(layout.Check());
  return layout;
}

absl::StatusOr<privacy::dp::NoiseShares> DpRelease::SharesOf(const privacy::dp::NoiseGrid& grid,
                                                             size_t members) const {
  return privacy::dp::SplitNoise(grid, static_cast<uint32_t>(members), limits::kMaskColluders,
                                 options_.layout.values());
}

privacy::dp::SnrParameters DpRelease::SnrParametersOfSum(
    const privacy::dp::NoiseShares& shares) const {
  return {.place = privacy::dp::NoiseLocation::kSum,
          .noise_multiplier = shares.noise_multiplier,
          .dimension = options_.layout.values(),
          .contributors = static_cast<double>(shares.contributors),
          .signal = options_.signal};
}

bool DpRelease::SumSuffices(const privacy::dp::NoiseGrid& grid, size_t members) const {
  const absl::StatusOr<privacy::dp::NoiseShares> shares = SharesOf(grid, members);
  return shares.ok() && privacy::dp::RequireSnr(SnrParametersOfSum(*shares)).ok();
}

absl::Status DpRelease::CheckMasked(size_t members) const {
  RETURN_IF_ERROR(CheckTier(privacy::ConsentTier::kMasked));
  ASSIGN_OR_RETURN(const privacy::dp::NoiseShares shares, SharesOf(grid_, members));
  RETURN_IF_ERROR(privacy::dp::RequireSnr(SnrParametersOfSum(shares)));
  ASSIGN_OR_RETURN(const uint64_t cost, privacy::dp::FixedPointRho(shares.rho));
  return privacy::CheckNodeBudget({&options_.budget, 1}, SpentUnits(), cost);
}

absl::StatusOr<privacy::PreparedMaskInput> DpRelease::PrepareMasked(
    federation::AdapterUpdate* update, std::span<const privacy::Contributor> whose,
    const privacy::ConsentRegister& consents, const privacy::masking::Clique& set) {
  RETURN_IF_ERROR(CheckMasked(set.members.size()));
  const std::vector<std::span<float>> banks = BanksOf(*update);
  return PrepareMaskedInput(TermsOfSum(), Guards(privacy::ConsentTier::kMasked, consents),
                            {.banks = banks, .contributors = whose}, set);
}

absl::StatusOr<privacy::masking::MaskInput> DpRelease::ReleaseMasked(
    federation::AdapterUpdate update, std::span<const privacy::Contributor> whose,
    const privacy::ConsentRegister& consents, const privacy::masking::Clique& set) {
  const uint64_t before = SpentUnits();
  absl::StatusOr<privacy::PreparedMaskInput> prepared =
      PrepareMasked(&update, whose, consents, set);
  RecordAttempt(before, prepared.status(), /*share=*/true);
  RETURN_IF_ERROR(prepared.status());
  RecordSent(prepared->input.reservation);
  const admin::v1::ReleaseStatus view = View(privacy::ConsentTier::kMasked);
  LogInfo(
      "sending a share of {} values to the masked sum of {} nodes: epsilon {:.3f} at delta {:.1e} "
      "(node level), predicted SNR {:.2f} of the sum; epsilon {:.3f} of {:.3f} spent",
      prepared->input.units.size(), set.members.size(), prepared->forecast.charge.epsilon,
      options_.delta, prepared->forecast.snr, view.spent_epsilon(), view.budget_epsilon());
  return std::move(prepared->input);
}

uint64_t DpRelease::last_reservation() const {
  return options_.ledger == nullptr ? 0 : options_.ledger->head().sequence;
}

size_t DpRelease::MembersOfSum() const {
  return std::clamp(contributors(), limits::kMinCliqueMembers, limits::kMaxCliqueMembers);
}

void DpRelease::WriteMasked(admin::v1::ReleaseStatus* view) const {
  const size_t members = MembersOfSum();
  view->set_contributors(members);
  const absl::StatusOr<privacy::dp::NoiseShares> shares = SharesOf(grid_, members);
  if (!shares.ok()) {
    return;
  }
  view->set_noise_multiplier(shares->noise_multiplier);
  view->set_epsilon(privacy::dp::EpsilonOfRho(shares->rho, options_.delta).value_or(0));
  view->set_predicted_snr(privacy::dp::PredictSnr(SnrParametersOfSum(*shares)).value_or(0));
  WriteSnrRequirements(
      SnrParametersOfSum(*shares),
      [this, members](const privacy::dp::NoiseGrid& grid) { return SumSuffices(grid, members); },
      view);
  if (view->needed_contributors() == 0) {
    return;
  }
  // A share of the noise is a whole number of units, so more members do not always reduce the noise
  // of a sum.
  size_t needed = members + 1;
  while (needed <= limits::kMaxCliqueMembers && !SumSuffices(grid_, needed)) {
    ++needed;
  }
  view->set_needed_contributors(needed <= limits::kMaxCliqueMembers ? static_cast<double>(needed)
                                                                    : 0);
}

}  // namespace ruvd::sharing
