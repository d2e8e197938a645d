// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a node gives to masked sums is paid for as its own releases are.

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

namespace ruvd {

ReleaseTerms DpRelease::TermsOfSum() const {
  ReleaseTerms terms = Terms();
  terms.layout.colluders = limits::kMaskColluders;
  return terms;
}

absl::StatusOr<masking::MaskLayout> DpRelease::LayoutOfSums() const {
  RETURN_IF_ERROR(usable_);
  masking::MaskLayout layout = TermsOfSum().layout;
  RETURN_IF_ERROR(layout.Check());
  return layout;
}

absl::StatusOr<dp::NoiseShares> DpRelease::SharesOf(const dp::NoiseGrid& grid,
                                                    size_t members) const {
  return dp::ShareNoise(grid, static_cast<uint32_t>(members), limits::kMaskColluders,
                        options_.layout.values());
}

dp::SnrQuestion DpRelease::QuestionOfSum(const dp::NoiseShares& shares) const {
  return {.place = dp::NoisePlace::kSum,
          .noise_multiplier = shares.noise_multiplier,
          .dimension = options_.layout.values(),
          .contributors = static_cast<double>(shares.contributors),
          .signal = options_.signal};
}

bool DpRelease::SumSuffices(const dp::NoiseGrid& grid, size_t members) const {
  const absl::StatusOr<dp::NoiseShares> shares = SharesOf(grid, members);
  return shares.ok() && dp::RequireSnr(QuestionOfSum(*shares)).ok();
}

absl::Status DpRelease::CheckMasked(size_t members) const {
  RETURN_IF_ERROR(CheckTier(ConsentTier::kMasked));
  ASSIGN_OR_RETURN(const dp::NoiseShares shares, SharesOf(grid_, members));
  RETURN_IF_ERROR(dp::RequireSnr(QuestionOfSum(shares)));
  ASSIGN_OR_RETURN(const uint64_t cost, dp::FixedPointRho(shares.rho));
  return CheckBudget({&options_.budget, 1}, PrivacyUnit::kNode, SpentUnits(), cost);
}

absl::StatusOr<PreparedInput> DpRelease::PrepareMasked(AdapterUpdate* update,
                                                       std::span<const Contributor> whose,
                                                       const ConsentRegister& consents,
                                                       const masking::Clique& set) {
  RETURN_IF_ERROR(CheckMasked(set.members.size()));
  const std::vector<std::span<float>> banks = BanksOf(*update);
  return PrepareMaskedInput(TermsOfSum(), Guards(ConsentTier::kMasked, consents),
                            {.banks = banks, .contributors = whose}, set);
}

absl::StatusOr<masking::MaskInput> DpRelease::ReleaseMasked(AdapterUpdate update,
                                                            std::span<const Contributor> whose,
                                                            const ConsentRegister& consents,
                                                            const masking::Clique& set) {
  const uint64_t before = SpentUnits();
  absl::StatusOr<PreparedInput> prepared = PrepareMasked(&update, whose, consents, set);
  NoteTry(before, prepared.status(), /*share=*/true);
  RETURN_IF_ERROR(prepared.status());
  NoteSent(prepared->input.reservation);
  const DpReleaseView view = View(ConsentTier::kMasked);
  LogInfo(
      "a share of {} values goes to the masked sum of {} nodes: epsilon {:.3f} at delta {:.1e} "
      "(node level), predicted SNR {:.2f} of the sum; epsilon {:.3f} of {:.3f} spent",
      prepared->input.units.size(), set.members.size(), prepared->forecast.charge.epsilon,
      options_.delta, prepared->forecast.snr, view.spent_epsilon, view.budget_epsilon);
  return std::move(prepared->input);
}

uint64_t DpRelease::last_reservation() const {
  return options_.ledger == nullptr ? 0 : options_.ledger->head().sequence;
}

size_t DpRelease::MembersOfSum() const {
  return std::clamp(contributors(), limits::kMinCliqueMembers, limits::kMaxCliqueMembers);
}

void DpRelease::WriteMasked(DpReleaseView* view) const {
  view->contributors = MembersOfSum();
  const absl::StatusOr<dp::NoiseShares> shares = SharesOf(grid_, view->contributors);
  if (!shares.ok()) {
    return;
  }
  view->noise_multiplier = shares->noise_multiplier;
  view->epsilon = dp::EpsilonOfRho(shares->rho, options_.delta).value_or(0);
  view->snr = dp::PredictSnr(QuestionOfSum(*shares)).value_or(0);
  const size_t members = view->contributors;
  WriteNeeds(
      QuestionOfSum(*shares),
      [this, members](const dp::NoiseGrid& grid) { return SumSuffices(grid, members); }, view);
  if (view->needed_contributors == 0) {
    return;
  }
  // Shares are whole units, too: more members do not always make the noise of a sum less.
  size_t needed = members + 1;
  while (needed <= limits::kMaxCliqueMembers && !SumSuffices(grid_, needed)) {
    ++needed;
  }
  view->needed_contributors = needed <= limits::kMaxCliqueMembers ? static_cast<double>(needed) : 0;
}

}  // namespace ruvd
