// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/learner/plan.h"
#include "privacy/dp/grid_release.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/ledger/unit_budget.h"

// What noise a round of private learning needs, and what signal then remains. Everything here is
// known before any data is read. All functions are pure.
namespace ruvd::federation {

struct PrivacyRequest {
  privacy::UnitBudget budget;  // of a lesson, a user or a node
  // Whether only the sum of all nodes is revealed, or the sum of each.
  bool masked = true;
  size_t nodes = 1;  // that take part, this one included; 4 to 16 if masked
  size_t tolerated =
      0;  // masked: members whose noise may be missing or known; 0: a third, rounded up
  // Units of this node that may take part. The number is public: give PublicUnits of it. A whole
  // node is 1.
  size_t units = 0;
  size_t dimension = 0;  // values of all banks
  double clip_norm = 2;
  // Norm of the mean clipped gradient over the clip norm. 0.08 to 0.1 was measured, at any rank.
  double signal = 0.09;
  size_t max_batch = 512;  // expected units of a sample that this machine can compute in a round
};

struct PrivacyPlan {
  double sampling_rate = 0;
  double expected_batch = 0;    // units in a sample, in the mean
  double noise_multiplier = 0;  // of what is revealed, without the shares of `tolerated` members
  privacy::dp::NoiseGrid grid;  // of the whole sum
  privacy::dp::RdpCurve round_cost;
  double epsilon = 0;  // of a unit that took part in all its rounds
  double snr_round = 0;
  double snr_run = 0;  // of the mean of all rounds (privacy/dp/snr.h)
};

// Returns the signal (PrivacyRequest::signal) of a unit of so many lessons, of which at most
// kMaxUnitLessons count, from that of one lesson. It grows like their number to the power 0.4,
// because lessons of one user are alike: users of 4 and of 10 lessons had 0.97 to 1.16 times that
// (bench/results/round-arms.json). It is 1 at most.
double SignalOf(double lessons_each, double signal_of_lesson);

// Returns a number of units that may be known, because one unit more or less seldom changes it: it
// is rounded down to a power of 1.25.
size_t PublicUnits(size_t units);

// Plans the largest batch up to max_batch and half of the units, or the node where that is the
// unit, because the signal grows with the batch throughout, and the least noise with which a unit's
// rounds stay within epsilon by the ledger's curves. Fails with INVALID_ARGUMENT for a request out
// of range or if no noise reaches epsilon; with LIMIT_EXCEEDED if the noise needs more than
// kMaxNoiseUnits; and with SIGNAL_TOO_WEAK if snr_run is below kMinReleaseSnr. That message names
// the smallest epsilon that suffices, and how many lessons, nodes or rounds would.
absl::StatusOr<PrivacyPlan> MakePrivacyPlan(const PrivacyRequest& request);

// Returns how a node takes part in a cluster that agreed on its noise (the key privacy.noise): the
// largest batch up to max_batch with which a unit's rounds stay within epsilon, and the signal that
// it keeps, which may be too weak. Fails with INVALID_ARGUMENT for a request out of range or if no
// sampling rate is small enough.
absl::StatusOr<PrivacyPlan> PlanAtNoise(const PrivacyRequest& request, double noise_multiplier);

// What snr_run would be if one quantity alone were changed; 0 where that is no plan.
struct PlanAlternatives {
  double twice_units = 0;  // a node has no second one
  double one_node_more = 0;
  double twice_rounds = 0;
  double half_rank = 0;  // a quarter of the values
};
// Fails as MakePrivacyPlan does for the request itself, except with SIGNAL_TOO_WEAK.
absl::StatusOr<PlanAlternatives> Alternatives(const PrivacyRequest& request);

// Returns the largest sampling rate with which rounds that are `rho`-zCDP without sampling stay
// within a unit's budget. It is for a node whose lessons are too few for the noise of its cluster.
// Its relative error is at most 1e-6 and never makes it too large. Fails with INVALID_ARGUMENT for
// arguments out of range, and if no sampling rate is small enough; then the message has the least
// epsilon that is.
absl::StatusOr<double> SamplingRateWithin(double rho, const privacy::UnitBudget& budget);

// ---- The noise of a plan of gradients

// Returns the zCDP of what peers see of one round of the plan for one unit that is in the sum: of a
// node's own sum, or if `masked` of the sum of a clique. The clique is not known before its members
// agree, so it is the worst one. Fails as privacy::LargestShareRho does.
absl::StatusOr<double> RhoOfRound(const LearnerPlan& plan, bool masked);

// How a node takes part in rounds of a plan of gradients.
struct RoundSampling {
  bool masked = false;
  size_t nodes = 1;        // that take part, this one included
  size_t units = 0;        // of this node, as PublicUnits returns them
  double rate = 1;         // of its sample
  double max_batch = 1e9;  // units of a sample that this machine can compute in a round
  uint32_t rounds = 20;    // in which a unit takes part
  double delta = 1e-6;     // of its epsilon after them
  double signal = 0.09;    // as in PrivacyRequest
};
// Returns the predicted ratio of signal and noise over all rounds of a unit, if all nodes are like
// this one (privacy/dp/snr.h). Fails as dp::PredictSnr and dp::SplitNoise do.
absl::StatusOr<double> PredictSnr(const LearnerPlan& plan, const RoundSampling& sampling);
// Returns SIGNAL_TOO_WEAK, with the figures, the epsilon that suffices or what else limits the
// sample, and other ways out, if that
// is below `min_snr`; and the errors of PredictSnr.
absl::Status RequireSignal(const LearnerPlan& plan, const RoundSampling& sampling, double min_snr);

}  // namespace ruvd::federation
