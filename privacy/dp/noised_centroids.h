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

// Where examples lie, as centroids that hide every single one of them: k-means whose every step
// sees noised sums only (Blum, Dwork, McSherry and Nissim 2005, "Practical privacy: the SuLQ
// framework", section 3.1), from start points that no data has a say in.
//
// The grouping is the point. Groups that the data itself made, such as stored patterns, are no
// ground for a release: one example more can move others to another group, and then more changes
// than one example's worth of sums. Here an example goes to the nearest of centres that were public
// before the pass, whatever the other examples are, so that adding or removing one changes one sum
// of a pass by at most its norm.
namespace ruvd::privacy::dp {

// What a release is, fixed before any data is seen. All of it is public.
struct CentroidTerms {
  size_t dimension = 0;
  // A group leaves where the norm of its sum is above this: every example is of norm 1, so that it
  // has more examples than this, too.
  double least_examples = 0;
  NoiseGrid grid;  // of one pass; the clip norm is 1, that of an example
};

// Terms whose passes together are one Gaussian release of `noise_multiplier` over an example.
// INVALID_ARGUMENT for no dimension, or less than kMinCentroidExamples; errors of MakeNoiseGrid.
absl::StatusOr<CentroidTerms> MakeCentroidTerms(double noise_multiplier, size_t dimension,
                                                double least_examples);

// What the accountant is told of all passes together: at least what was asked for.
double NoiseMultiplierOf(const CentroidTerms& terms);

// Norm of the smallest sum that leaves over the norm of its noise.
double SnrOf(const CentroidTerms& terms);

// SIGNAL_TOO_WEAK, with the figure and the ways out, where that is below kMinReleaseSnr.
absl::Status RequireCentroidSnr(const CentroidTerms& terms);

// kCentroidCells unit vectors that follow from `seed` alone.
std::vector<std::vector<float>> PublicAnchors(const Digest& seed, size_t dimension);

// The noised sum of each cell, in units of the grid; one vector for each centre of a pass.
using NoisedSums = std::vector<std::vector<int64_t>>;

// Everything that touches data: kCentroidPasses passes, each of which scales every example to norm
// 1, rounds it to the grid, clips it in integers, adds it to the sum of the centre nearest to it,
// and adds integer noise to all values of all sums, also of cells without examples. The first
// pass's centres are `anchors`, later ones are the directions of the sums before. The result may
// be published: it is NoiseMultiplierOf(terms)'s zCDP for adding or removing one example. The
// caller has charged that before. An example without direction, or that is not finite, adds
// nothing. INVALID_ARGUMENT for other dimensions, other than kCentroidCells anchors, or another
// noise than the grid's; LIMIT_EXCEEDED for more than kMaxCentroidExamples.
absl::StatusOr<std::vector<NoisedSums>> NoisedPasses(
    std::span<const std::span<const float>> examples, std::span<const std::vector<float>> anchors,
    const CentroidTerms& terms, const DiscreteGaussian& noise, const RandomBytes& random);

struct NoisedCentroid {
  size_t cell = 0;
  std::vector<float> direction;  // of length 1
};

// The centroids of the last pass that may leave, by cell. Looks at noised values only. The chance
// that any cell whose sum is not above `least_examples` leaves is at most
// kCentroidDeception: whoever has fewer examples in all may as well not begin, and nobody can tell.
std::vector<NoisedCentroid> CentroidsOf(const NoisedSums& last, const CentroidTerms& terms);

}  // namespace ruvd::privacy::dp
