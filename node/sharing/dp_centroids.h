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
#include "privacy/ledger/privacy_budget.h"
#include "privacy/release/centroid_release.h"
#include "storage/ledger/privacy_ledger_store.h"

namespace ruvd::sharing {

struct DpCentroidsOptions {
  bool enabled = false;  // the operator asked for it: a tier alone does not
  privacy::SitePolicy policy;
  std::string scope;              // of `policy`, that all of this node's data is in
  double epsilon = 4;             // of one release, at `delta`, for one lesson
  double delta = 1e-6;            // that every epsilon is said at
  uint32_t examples = 50;         // lessons that a centroid is of more than
  privacy::PrivacyBudget budget;  // of the unit example, for the node's whole life
  Duration interval{};     // before the second release; twice as long before each further one
  uint32_t dimension = 0;  // of the model's embeddings
  Digest space{};          // the model package's id
  privacy::NodeId self{};  // whose centroids they are
  // Null: no ledger could be opened, so nothing is released; `unavailable` says why.
  storage::PrivacyLedgerStore* ledger = nullptr;
  absl::Status unavailable;
  // The lessons that may be in a release at `now_ms`.
  std::function<absl::StatusOr<learning::CentroidLessons>(int64_t now_ms)> lessons;
  privacy::dp::RandomBytes random;
  const Clock* clock = nullptr;
};

// What a release of centroids would be and what the last ones were; for the operator.
struct DpCentroidsView {
  bool enabled = false;
  double epsilon = 0;  // that the next one is charged for one lesson
  double delta = 0;
  double noise_multiplier = 0;  // 0: it cannot be made
  uint32_t examples = 0;        // that a centroid is of more than
  size_t most = 0;              // centroids that one release has at most
  size_t payload_bytes = 0;     // of each
  double snr = 0;               // predicted, of the smallest centroid that leaves
  // Of one lesson: what centroids cost it, and the noised updates that it is in as well.
  double spent_epsilon = 0;
  double budget_epsilon = 0;
  uint64_t releases = 0;  // charged since the store was made
  int64_t last_ms = 0;    // Unix time of the last charge; 0: none
  int64_t next_ms = 0;    // before which none is made; 0: at any time
  absl::Status refusal;   // why the last one was not made; OK: it was, or none was tried
};

// What one release gave: patterns without cores, and whose lessons are in any of them.
struct NoisedPatterns {
  std::vector<federation::SharedPattern> patterns;
  std::vector<privacy::Contributor> contributors;
};

// The way of where this node's lessons lie out of it under the tier `dp`: centroids of groups that
// hide every single lesson (dp/noised_centroids.h), charged to the ledger, unit example, before
// their noise is drawn. It knows no stored patterns: those are groups that the lessons themselves
// made, whose centroids hide nobody. One thread uses it; View is thread-safe.
//
// Epsilon covers what a release says. When it happens, that it does, and that all of it is taken
// back when somebody withdraws, is seen by peers.
class DpCentroids {
 public:
  // Reads from the ledger when it was charged last. Figures that make no release leave one that
  // refuses all and says so.
  static std::unique_ptr<DpCentroids> Create(DpCentroidsOptions options);

  // Whether a release may be tried: it is on, the interval since the last charge is over, and so is
  // an hour since the last try.
  bool Due() const;

  // All that can be said without the lessons: on, policy, ledger, predicted signal, budget. A
  // lesson may be in noised updates, too, so what those cost counts against its budget.
  // FAILED_PRECONDITION, SCOPE_UNKNOWN, POLICY_REFUSES, SIGNAL_TOO_WEAK, PRIVACY_BUDGET_SPENT.
  absl::Status Check() const;

  // Pays for and makes one release. May give no pattern: noise hid them all. Errors of Check,
  // `lessons` and PrepareCentroids; each is noted, and logged until another one comes.
  absl::StatusOr<NoisedPatterns> Release(const privacy::ConsentRegister& consents);

  // The lessons that would be in the next one. Errors of the store.
  absl::StatusOr<learning::CentroidLessons> NextLessons() const;

  DpCentroidsView View() const;

 private:
  explicit DpCentroids(DpCentroidsOptions options);
  privacy::CentroidReleaseTerms Terms() const;
  absl::StatusOr<NoisedPatterns> Pay(const privacy::ConsentRegister& consents);
  void ReadLedger();
  int64_t NextMillis() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t SpentUnits() const;

  const DpCentroidsOptions options_;
  absl::Status usable_;  // whether the figures make a release
  privacy::dp::CentroidTerms terms_;
  privacy::LedgerCharge charge_;
  mutable Mutex mutex_;
  uint64_t releases_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t tried_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

// A noised centroid as peers get it: every field but its direction is the same whatever the lessons
// say. `created_ms` is the release's moment.
federation::SharedPattern NoisedPatternOf(const privacy::dp::NoisedCentroid& centroid,
                                          const privacy::NodeId& self, uint32_t examples,
                                          int64_t created_ms);
// Whether a pattern says of itself that it is one.
bool IsNoised(const federation::SharedPattern& pattern);

}  // namespace ruvd::sharing
