// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "federation/daf/adapter_update.h"
#include "node/sharing/update_layout.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/dp/grid_release.h"
#include "privacy/dp/snr.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/masking_session.h"
#include "privacy/release/update_release.h"
#include "storage/ledger/privacy_ledger_store.h"

namespace ruvd::admin::v1 {
class ReleaseStatus;
}  // namespace ruvd::admin::v1

namespace ruvd::sharing {

struct DpReleaseOptions {
  privacy::SitePolicy policy;
  std::string scope;     // scope of `policy` that applies to all data of this node
  double clip_norm = 1;  // L2, of the whole update
  double epsilon = 1;    // cost of one release, at `delta`
  double delta = 1e-6;   // delta of every epsilon
  double signal = 0.5;   // expected norm of the mean clipped update over the clip norm, 0 to 1
  privacy::UnitBudget budget;  // for the node's whole life
  Duration interval{};         // between two charges, even across a restart
  UpdateLayout layout;         // of the update; its frame must outlive the release
  // Null if no ledger could be opened; then nothing is released and `unavailable` says why.
  storage::PrivacyLedgerStore* ledger = nullptr;
  absl::Status unavailable;
  privacy::dp::RandomBytes random;
  const Clock* clock = nullptr;
};

// Returns the values of an update by bank, for clipping in place.
std::vector<std::span<float>> BanksOf(federation::AdapterUpdate& update);

// Returns the noise grid for an update of `values` values that costs at most `epsilon` at `delta`.
// Returns the errors of dp::RhoForEpsilon and dp::MakeNoiseGrid.
absl::StatusOr<privacy::dp::NoiseGrid> GridWithin(double epsilon, double delta, double clip_norm,
                                                  size_t values);

// Releases the node's own update under the tier `dp`: a release uses the discrete Gaussian
// mechanism (Canonne, Kamath, Steinke 2020) with the node as its privacy unit, and is charged to
// the ledger before its noise is drawn. Under `masked` the release is the sum over a clique, to
// which each member adds its share of the noise. A refused release costs nothing; a charge is never
// refunded. Only one thread may use an object; View is thread-safe.
class DpRelease {
 public:
  // Reads the time of the last charge from the ledger, and whether shares were charged. If the
  // options allow no release, for example because the noise exceeds the sampler's range, the object
  // refuses every release and says why.
  static std::unique_ptr<DpRelease> Create(DpReleaseOptions options);

  // Checks whether this version, the site policy and the ledger allow the tier, which does not
  // depend on data or on other members. Returns SCOPE_UNKNOWN, POLICY_REFUSES, INVALID_ARGUMENT and
  // the errors of opening the ledger.
  absl::Status CheckTier(privacy::ConsentTier tier) const;

  // Returns whether the interval since the last charge is over. If the clock went back, the
  // interval starts again.
  bool Due();

  // Sets the number of nodes whose updates receivers average, which the predicted signal depends
  // on. It is 1 until this is called.
  void SetContributors(size_t contributors);

  // Checks everything that does not depend on the update: CheckTier, the predicted signal of the
  // nodes' mean (SIGNAL_TOO_WEAK) and the budget (PRIVACY_BUDGET_SPENT).
  absl::Status Check() const;

  // Charges for and makes one release of all banks of `update` together; `update` must have all
  // banks. The result holds the released integers times their unit, clipped to the norm that peers
  // accept, and does not tell its number of examples. Returns the errors of Check and
  // PrepareRelease; the view shows the last error, and a repeated error is logged only once.
  absl::StatusOr<federation::AdapterUpdate> Release(federation::AdapterUpdate update,
                                                    std::span<const privacy::Contributor> whose,
                                                    const privacy::ConsentRegister& consents);
  // ---- The tier `masked` Returns the layout of the sums that this node takes part in; only nodes
  // with equal layouts form a sum. Returns the errors of making a noise grid.
  absl::StatusOr<privacy::masking::MaskLayout> LayoutOfSums() const;
  // Does what Check does, for a sum over `members` nodes. Returns INVALID_ARGUMENT if so few
  // members cannot share the noise.
  absl::Status CheckMasked(size_t members) const;
  // Charges for and makes this node's input to the sum over a clique. `update` must have all banks.
  // Returns the errors of CheckMasked and PrepareMaskedInput, which are shown and logged as those
  // of Release.
  absl::StatusOr<privacy::masking::MaskInput> ReleaseMasked(
      federation::AdapterUpdate update, std::span<const privacy::Contributor> whose,
      const privacy::ConsentRegister& consents, const privacy::masking::Clique& set);
  // Returns the number of the ledger's newest reservation; 0 if there is no reservation.
  uint64_t last_reservation() const;

  // Notes a refusal that was found before a release. OK ends the present refusal.
  void RecordRefusal(const absl::Status& status);

  // Sets the operator's tier. View() describes the next release under kMasked if that is the tier,
  // and otherwise under kDp, the initial tier. Refusals under another tier are forgotten.
  void SetTier(privacy::ConsentTier tier);
  // Returns the next release, the last ones and the spent budget, as the operator sees them.
  admin::v1::ReleaseStatus View() const;
  // Returns the view as if `tier` were the operator's tier.
  admin::v1::ReleaseStatus View(privacy::ConsentTier tier) const;

  // The payload of the next release: the bytes before its values, and the number of bytes that
  // follow. The latter are the values, with the number of the bank before the values of each bank
  // but the first.
  struct Layout {
    std::string head;
    size_t value_bytes = 0;
  };
  Layout LayoutOfPayload() const;

 private:
  explicit DpRelease(DpReleaseOptions options);
  privacy::ReleaseTerms Terms() const;
  size_t contributors() const;
  // Returns the number of members of the next sum, as far as it is known.
  size_t MembersOfSum() const;
  privacy::dp::SnrParameters MakeSnrParameters() const;
  // Writes the result of ComputeSnrRequirements as values that the operator can configure.
  // `suffices` returns whether the noise of a grid is small enough; if it is, a grid of fewer units
  // suffices too.
  void WriteSnrRequirements(const privacy::dp::SnrParameters& question,
                            const std::function<bool(const privacy::dp::NoiseGrid&)>& suffices,
                            admin::v1::ReleaseStatus* view) const;
  // Returns the smallest configured epsilon of one release whose grid suffices; 0 if there is no
  // such epsilon.
  double MinEpsilonFor(const std::function<bool(const privacy::dp::NoiseGrid&)>& suffices) const;
  // Writes what the last tries did; `refusal_now` counts before the first one.
  void WriteTries(const absl::Status& refusal_now, admin::v1::ReleaseStatus* view) const;
  void WriteMasked(admin::v1::ReleaseStatus* view) const;
  // Returns why a release under `tier` would be refused now, for the time before the first try. For
  // a tier without noise the only possible reason is an unreadable ledger.
  absl::Status CurrentRefusal(privacy::ConsentTier tier) const;
  // Return the terms of a sum, the noise of a sum over `members` nodes, and the question about its
  // signal.
  privacy::ReleaseTerms TermsOfSum() const;
  absl::StatusOr<privacy::dp::NoiseShares> SharesOf(const privacy::dp::NoiseGrid& grid,
                                                    size_t members) const;
  // Returns whether the noise of a sum over `members` nodes on this grid is small enough.
  bool SumSuffices(const privacy::dp::NoiseGrid& grid, size_t members) const;
  privacy::dp::SnrParameters SnrParametersOfSum(const privacy::dp::NoiseShares& shares) const;
  // Returns the guards that every release of this node must pass.
  privacy::ReleaseGuards Guards(privacy::ConsentTier tier,
                                const privacy::ConsentRegister& consents) const;
  absl::StatusOr<privacy::PreparedMaskInput> PrepareMasked(
      federation::AdapterUpdate* update, std::span<const privacy::Contributor> whose,
      const privacy::ConsentRegister& consents, const privacy::masking::Clique& set);
  absl::StatusOr<privacy::PreparedRelease> Prepare(federation::AdapterUpdate* update,
                                                   std::span<const privacy::Contributor> whose,
                                                   const privacy::ConsentRegister& consents);
  uint64_t SpentUnits() const;
  // Notes how a try of a release, or of a share, ended; `spent` was spent before the try.
  void RecordAttempt(uint64_t spent, const absl::Status& status, bool share);
  // Notes that peers may have the reserved release from here on.
  void RecordSent(uint64_t reservation);

  const DpReleaseOptions options_;
  absl::Status usable_;  // whether the options allow a release
  privacy::dp::NoiseGrid grid_;
  uint64_t cost_ = 0;  // of one release, in the ledger's units
  mutable Mutex mutex_;
  privacy::ConsentTier tier_ ABSL_GUARDED_BY(mutex_) = privacy::ConsentTier::kDp;
  int64_t last_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  bool sums_ ABSL_GUARDED_BY(mutex_) = false;  // a share was charged
  size_t contributors_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  bool tried_ ABSL_GUARDED_BY(mutex_) = false;  // under the present tier
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::sharing
