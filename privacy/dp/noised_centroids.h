// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/dp/grid_release.h"

// Centroids that show where examples lie but hide every single example: k-means that sees only
// noised sums in every step (Blum, Dwork, McSherry and Nissim 2005, "Practical privacy: the SuLQ
// framework", section 3.1) and starts from points that do not depend on data.
//
// The grouping is essential. A release must not use groups that the data itself made, such as
// stored patterns: one more example can move other examples to another group, and then the sums
// change by more than that example. Here each example goes to the nearest of centres that were
// public before the pass, whatever the other examples are. So adding or removing an example changes
// one sum of a pass by at most the example's norm.
namespace ruvd::privacy::dp {

// The terms of a release, which are fixed before any data is seen. All of them are public.
struct CentroidTerms {
  size_t dimension = 0;
  // A centroid leaves only if the norm of its cell's sum is above this. Every example has norm 1,
  // so the cell then has more examples than this.
  double least_examples = 0;
  NoiseGrid grid;  // the grid of one pass; its clip norm is 1, the norm of an example
};

// Returns terms whose passes together are one Gaussian release with `noise_multiplier`, where the
// unit is one example. Fails with INVALID_ARGUMENT for a dimension of 0 or a `least_examples`
// outside kMinCentroidExamples to kMaxCentroidExamples, and as MakeNoiseGrid does.
absl::StatusOr<CentroidTerms> MakeCentroidTerms(double noise_multiplier, size_t dimension,
                                                double least_examples);

// Returns the noise multiplier of all passes together for the accountant, which is at least the
// requested one.
double NoiseMultiplierOf(const CentroidTerms& terms);

// Returns the norm of the smallest sum that leaves, divided by the norm of its noise.
double SnrOf(const CentroidTerms& terms);

// Returns SIGNAL_TOO_WEAK, with the figure and the remedies, if SnrOf(terms) is below
// kMinReleaseSnr.
absl::Status RequireCentroidSnr(const CentroidTerms& terms);

// Returns kCentroidCells unit vectors that depend on `seed` alone.
std::vector<std::vector<float>> PublicAnchors(const Digest& seed, size_t dimension);

// The noised sums of a pass in units of the grid: one vector for each centre
using NoisedSums = std::vector<std::vector<int64_t>>;

// Runs kCentroidPasses passes over the examples; this is the only function that reads them. Each
// pass scales every example to norm 1, rounds it to the grid, clips it in integers, and adds it to
// the sum of the nearest centre. It adds integer noise to all values of all sums, also of cells
// without examples. The centres of the first pass are `anchors`; those of a later pass are the
// directions of the sums before. The result may be published: it is 1 / (2 m^2)-zCDP for adding or
// removing one example, where m is NoiseMultiplierOf(terms). The caller must have charged that
// before. An example that is zero or not finite adds nothing. Fails with INVALID_ARGUMENT for other
// dimensions, for a number of anchors other than kCentroidCells, or for a noise that is not the
// grid's, and with LIMIT_EXCEEDED for more than kMaxCentroidExamples.
absl::StatusOr<std::vector<NoisedSums>> RunNoisedPasses(
    std::span<const std::span<const float>> examples, std::span<const std::vector<float>> anchors,
    const CentroidTerms& terms, const DiscreteGaussian& noise, const RandomBytes& random);

struct NoisedCentroid {
  size_t cell = 0;
  std::vector<float> direction;  // of length 1
};

// Returns the centroids of the last pass that may leave, ordered by cell. It reads only noised
// values. The probability that any cell leaves whose sum is not above `least_examples` is at most
// kCentroidDeception. So a node that has fewer examples in total need not begin a release, and a
// receiver cannot tell the difference.
std::vector<NoisedCentroid> CentroidsOf(const NoisedSums& last, const CentroidTerms& terms);

}  // namespace ruvd::privacy::dp
