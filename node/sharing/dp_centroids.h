// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "federation/patterns/shared_pattern.h"
#include "node/learning/centroid_lessons.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/release/centroid_release.h"
#include "storage/ledger/privacy_ledger_store.h"

namespace ruvd::admin::v1 {
class CentroidStatus;
}  // namespace ruvd::admin::v1

namespace ruvd::sharing {

struct DpCentroidsOptions {
  bool enabled = false;  // the operator switched centroids on; the tier alone does not
  privacy::SitePolicy policy;
  std::string scope;          // scope of `policy` that applies to all data of this node
  double epsilon = 4;         // cost of one release for one lesson, at `delta`
  double delta = 1e-6;        // delta of every epsilon
  uint32_t examples = 50;     // a centroid must cover more lessons than this
  double budget_epsilon = 0;  // what a lesson may spend, as the ledger's budget says
  Duration interval{};        // before the second release; each further wait is twice as long
  uint32_t dimension = 0;     // of the model's embeddings
  Digest space{};             // the model package's id
  privacy::NodeId self{};     // the node that releases the centroids
  // Null if no ledger could be opened; then nothing is released and `unavailable` says why.
  storage::PrivacyLedgerStore* ledger = nullptr;
  absl::Status unavailable;
  // Returns the lessons that may be in a release at `now_ms`.
  std::function<absl::StatusOr<learning::CentroidLessons>(int64_t now_ms)> lessons;
  privacy::dp::RandomBytes random;
  const Clock* clock = nullptr;
};

// The result of one release: patterns without cores, and the contributors whose lessons are in any
// of them.
struct NoisedPatterns {
  std::vector<federation::SharedPattern> patterns;
  std::vector<privacy::Contributor> contributors;
};

// Releases noised centroids of this node's lessons under the tier `dp`. A centroid covers a group
// of lessons and hides every single lesson (dp/noised_centroids.h). The ledger is charged, with the
// unit lesson, before the noise is drawn. Stored patterns are not used: the lessons themselves
// decided how they are grouped there, so their centroids would hide no lesson. Only one thread may
// use an object; View is thread-safe.
//
// Epsilon covers the contents of a release. Peers also see that a release happens, when it happens,
// and that all of it is withdrawn when a contributor withdraws a consent; epsilon does not cover
// this.
class DpCentroids {
 public:
  // Reads the time of the last charge from the ledger. If the options allow no release, the object
  // refuses every release and says why.
  static std::unique_ptr<DpCentroids> Create(DpCentroidsOptions options);

  // Returns whether a release may be tried: centroids are on, the interval since the last charge is
  // over, and the last try was at least an hour ago.
  bool Due() const;

  // Checks everything that does not depend on the lessons: whether centroids are on, the policy,
  // the ledger, the predicted signal and the budget. A lesson may be in contributions too, so
  // their cost counts against its budget. Errors: FAILED_PRECONDITION, SCOPE_UNKNOWN,
  // POLICY_REFUSES, SIGNAL_TOO_WEAK, PRIVACY_BUDGET_SPENT.
  absl::Status Check() const;

  // Charges for and makes one release. The result may be empty if noise hid all groups. Returns the
  // errors of Check, `lessons` and PrepareCentroids; the view shows the last error, and a repeated
  // error is logged only once.
  absl::StatusOr<NoisedPatterns> Release(const privacy::ConsentRegister& consents);

  // Returns the lessons that would be in the next release, or an error of the store.
  absl::StatusOr<learning::CentroidLessons> NextLessons() const;

  // Returns the next release, the last ones and the spent budget, as the operator sees them.
  admin::v1::CentroidStatus View() const;

 private:
  explicit DpCentroids(DpCentroidsOptions options);
  privacy::CentroidReleaseTerms Terms() const;
  absl::StatusOr<NoisedPatterns> ChargeAndRelease(const privacy::ConsentRegister& consents);
  void ReadLedger();
  int64_t NextMillis() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the largest epsilon that any lesson has spent, in contributions too.
  absl::StatusOr<double> SpentEpsilon() const;

  const DpCentroidsOptions options_;
  absl::Status usable_;  // whether the options allow a release
  privacy::dp::CentroidTerms terms_;
  privacy::LedgerCharge charge_;
  mutable Mutex mutex_;
  uint64_t releases_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t tried_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

// Returns a noised centroid as peers get it. All fields except its direction are independent of the
// lessons. `created_ms` is the time of the release.
federation::SharedPattern NoisedPatternOf(const privacy::dp::NoisedCentroid& centroid,
                                          const privacy::NodeId& self, uint32_t examples,
                                          int64_t created_ms);
// Returns whether a pattern claims to be a noised centroid.
bool IsNoised(const federation::SharedPattern& pattern);

}  // namespace ruvd::sharing
