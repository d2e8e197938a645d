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
#include "privacy/ledger/privacy_budget.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/masking_session.h"
#include "privacy/release/update_release.h"
#include "storage/ledger/privacy_ledger_store.h"

namespace ruvd::sharing {

struct DpReleaseOptions {
  privacy::SitePolicy policy;
  std::string scope;     // of `policy`, that all of this node's data is in
  double clip_norm = 1;  // L2, of the whole update
  double epsilon = 1;    // of one release, at `delta`
  double delta = 1e-6;   // that every epsilon is said at
  double signal = 0.5;   // expected norm of the mean clipped update over the clip norm, 0 to 1
  privacy::PrivacyBudget budget;  // of the ledger, for the node's whole life
  Duration interval{};            // between two charges, also over a restart
  UpdateLayout layout;            // of the update; its frame outlives the release
  // Null: no ledger could be opened, so nothing is released; `unavailable` says why.
  storage::PrivacyLedgerStore* ledger = nullptr;
  absl::Status unavailable;
  privacy::dp::RandomBytes random;
  const Clock* clock = nullptr;
};

// What a release would be, what the last ones were, and what was spent; for the operator.
struct DpReleaseView {
  std::string scope;
  double clip_norm = 0;
  double delta = 0;
  double epsilon = 0;           // that the next one is charged
  double noise_multiplier = 0;  // of it; 0: it cannot be made
  size_t values = 0;
  size_t contributors = 0;  // nodes that the prediction is for; under `masked` those of one sum
  double snr = 0;           // predicted, of the mean of their releases, or of their masked sum
  // What alone would make the prediction suffice, where it does not; 0: it does, or nothing would.
  double needed_epsilon = 0;  // configured for one release
  double needed_contributors = 0;
  size_t needed_values = 0;
  double spent_epsilon = 0;
  double budget_epsilon = 0;
  uint64_t releases = 0;  // charged since the store was made
  bool sums = false;      // one of them is a share of a masked sum
  absl::Status unknown;   // why what was spent is not known; OK: it is
  uint64_t refused = 0;   // times since the start of the node that a refusal began
  int64_t last_ms = 0;    // Unix time of the last charge; 0: none
  int64_t next_ms = 0;    // before which none is made; 0: at any time
  // Why the last one under the tier was not made, or before the first try would not be made now.
  absl::Status refusal;
};

// The values of an update by bank, to be clipped in place.
std::vector<std::span<float>> BanksOf(federation::AdapterUpdate& update);

// The grid of an update of `values` values whose noise costs at most `epsilon` at `delta`. Errors
// of dp::RhoWithin and dp::MakeNoiseGrid.
absl::StatusOr<privacy::dp::NoiseGrid> GridWithin(double epsilon, double delta, double clip_norm,
                                                  size_t values);

// The way of a node's own core out of it under the tier `dp`: one release of the discrete Gaussian
// mechanism whose unit is the node, charged to the ledger before its noise is drawn. Under `masked`
// the release is the sum of a clique, to which each member adds its share of that noise. What is
// refused costs nothing, what was charged is never given back. One thread uses it; View is
// thread-safe.
class DpRelease {
 public:
  // Reads from the ledger when it was charged last, and whether for shares. Figures that make no
  // release, for example noise above what the sampler has, leave one that refuses all and says so.
  static std::unique_ptr<DpRelease> Create(DpReleaseOptions options);

  // What this version, the site's policy and the ledger allow to be chosen, which no other data and
  // no other member could change. SCOPE_UNKNOWN, POLICY_REFUSES, INVALID_ARGUMENT, the errors of
  // opening the ledger.
  absl::Status CheckTier(privacy::ConsentTier tier) const;

  // Whether the interval since the last charge is over. A clock that went back begins it anew.
  bool Due();

  // Nodes whose updates receivers average: what the prediction of the signal is for. 1 at first.
  void SetContributors(size_t contributors);

  // All that can be said without the update: CheckTier, the predicted signal of the nodes' mean,
  // the budget. SIGNAL_TOO_WEAK, PRIVACY_BUDGET_SPENT.
  absl::Status Check() const;

  // Pays for and makes one release of all banks of `update` together, which it has all of. The
  // result holds the released integers times their unit, clipped to the norm that peers take, and
  // does not say of how many examples it is. Errors of Check and PrepareRelease; each is noted and
  // logged once, until another one comes or one is made.
  absl::StatusOr<federation::AdapterUpdate> Release(federation::AdapterUpdate update,
                                                    std::span<const privacy::Contributor> whose,
                                                    const privacy::ConsentRegister& consents);
  // ---- Under the tier `masked`.
  // What the sums are of that this node takes part in: nodes of the same figures add up. The errors
  // of making a grid for them.
  absl::StatusOr<privacy::masking::MaskLayout> LayoutOfSums() const;
  // All that can be said before a sum of `members` without the update, as Check. INVALID_ARGUMENT
  // where so few have no noise to share.
  absl::Status CheckMasked(size_t members) const;
  // Pays for and makes this node's input to the sum of a clique. `update` has all banks. The errors
  // of CheckMasked and PrepareMaskedInput; each is noted and logged as those of Release.
  absl::StatusOr<privacy::masking::MaskInput> ReleaseMasked(
      federation::AdapterUpdate update, std::span<const privacy::Contributor> whose,
      const privacy::ConsentRegister& consents, const privacy::masking::Clique& set);
  // No reservation of the ledger is newer; 0: there is none.
  uint64_t last_reservation() const;

  // Notes a refusal that was found before a release; OK: what was refused no longer is.
  void Refuse(const absl::Status& status);

  // The operator's tier: whose next release View says what it would be, where that is kMasked; else
  // that of kDp, as at first. What was refused under another one is not said of it.
  void SetTier(privacy::ConsentTier tier);
  DpReleaseView View() const;
  // The same as if that were the operator's.
  DpReleaseView View(privacy::ConsentTier tier) const;

  // The bytes of the next release up to its values, and how many bytes follow: values, and before
  // those of each further bank its number.
  struct Layout {
    std::string head;
    size_t value_bytes = 0;
  };
  Layout LayoutOfPayload() const;

 private:
  explicit DpRelease(DpReleaseOptions options);
  privacy::ReleaseTerms Terms() const;
  size_t contributors() const;
  // Of the next sum, as far as is known.
  size_t MembersOfSum() const;
  privacy::dp::SnrQuestion Question() const;
  // NeedsOfSnr as figures that the operator can set. `suffices`: whether a grid's noise is little
  // enough, as that of fewer units is where it is.
  void WriteNeeds(const privacy::dp::SnrQuestion& question,
                  const std::function<bool(const privacy::dp::NoiseGrid&)>& suffices,
                  DpReleaseView* view) const;
  // The least epsilon of one release, as it is configured, whose grid suffices; 0: there is none.
  double EpsilonThat(const std::function<bool(const privacy::dp::NoiseGrid&)>& suffices) const;
  void WriteMasked(DpReleaseView* view) const;
  // Why nothing would be released under `tier` now, where nothing was tried yet. Where the tier
  // takes no noise that is nothing, but for a ledger that nobody can read.
  absl::Status RefusalNow(privacy::ConsentTier tier) const;
  // The terms of a sum, the noise of one of so many members, and what is asked of it.
  privacy::ReleaseTerms TermsOfSum() const;
  absl::StatusOr<privacy::dp::NoiseShares> SharesOf(const privacy::dp::NoiseGrid& grid,
                                                    size_t members) const;
  // Whether the noise of a sum of so many on this grid is little enough.
  bool SumSuffices(const privacy::dp::NoiseGrid& grid, size_t members) const;
  privacy::dp::SnrQuestion QuestionOfSum(const privacy::dp::NoiseShares& shares) const;
  // What any release of this node asks before it is made.
  privacy::ReleaseGuards Guards(privacy::ConsentTier tier,
                                const privacy::ConsentRegister& consents) const;
  absl::StatusOr<privacy::PreparedInput> PrepareMasked(federation::AdapterUpdate* update,
                                                       std::span<const privacy::Contributor> whose,
                                                       const privacy::ConsentRegister& consents,
                                                       const privacy::masking::Clique& set);
  absl::StatusOr<privacy::PreparedRelease> Prepare(federation::AdapterUpdate* update,
                                                   std::span<const privacy::Contributor> whose,
                                                   const privacy::ConsentRegister& consents);
  uint64_t SpentUnits() const;
  // Notes how a try of a release, or of a share, ended, before which `spent` was spent.
  void NoteTry(uint64_t spent, const absl::Status& status, bool share);
  // From here on peers may have what was reserved.
  void NoteSent(uint64_t reservation);

  const DpReleaseOptions options_;
  absl::Status usable_;  // whether the figures make a release
  privacy::dp::NoiseGrid grid_;
  uint64_t cost_ = 0;  // of one, in the ledger's units
  mutable Mutex mutex_;
  privacy::ConsentTier tier_ ABSL_GUARDED_BY(mutex_) = privacy::ConsentTier::kDp;
  int64_t last_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  bool sums_ ABSL_GUARDED_BY(mutex_) = false;  // a share was charged
  size_t contributors_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  bool tried_ ABSL_GUARDED_BY(mutex_) = false;  // under the tier
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::sharing
