// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/noised_centroids.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"

namespace ruvd::privacy::dp {
namespace {

constexpr auto kPasses = static_cast<double>(limits::kCentroidPasses);

// Returns the factor that scales a vector to length 1, or 0 for a vector that is zero or not
// finite.
template <typename T>
double ScaleToUnit(std::span<const T> values) {
  double squares = 0;
  for (const T value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::isfinite(squares) && squares > 0 ? 1 / std::sqrt(squares) : 0;
}

template <typename T>
std::vector<float> DirectionOf(std::span<const T> values) {
  const double scale = ScaleToUnit(values);
  std::vector<float> direction;
  direction.reserve(values.size());
  for (const T value : values) {
    direction.push_back(static_cast<float>(static_cast<double>(value) * scale));
  }
  return direction;
}

size_t NearestOf(std::span<const float> example, std::span<const std::vector<float>> centres) {
  size_t nearest = 0;
  double best = -1e300;
  for (size_t cell = 0; cell < centres.size(); ++cell) {
    double dot = 0;
    for (size_t i = 0; i < example.size(); ++i) {
      dot += static_cast<double>(example[i]) * centres[cell][i];
    }
    if (dot > best) {
      best = dot;
      nearest = cell;
    }
  }
  return nearest;
}

// Returns an example in units of the grid, clipped in integers so that its norm is exactly bounded.
// Returns an empty vector for an example without direction.
std::vector<int32_t> UnitsOf(std::span<const float> example, const NoiseGrid& grid) {
  const double scale = ScaleToUnit(example);
  std::vector<int32_t> units;
  if (scale == 0) {
    return units;
  }
  units.reserve(example.size());
  for (const float value : example) {
    units.push_back(static_cast<int32_t>(
        std::lrint(static_cast<double>(value) * scale * static_cast<double>(grid.clip_units))));
  }
  ClipIntegers(units, grid.clip_units);
  return units;
}

NoisedSums NoisedPass(std::span<const std::span<const float>> examples,
                      std::span<const std::vector<float>> centres, const CentroidTerms& terms,
                      const DiscreteGaussian& noise, const RandomBytes& random) {
  NoisedSums sums(centres.size(), std::vector<int64_t>(terms.dimension));
  std::vector<int32_t> drawn(terms.dimension);
  for (std::vector<int64_t>& sum : sums) {  // before any data is read
    noise.Sample(random, drawn);
    std::ranges::copy(drawn, sum.begin());
  }
  SecureWipe({reinterpret_cast<uint8_t*>(drawn.data()), drawn.size() * sizeof(int32_t)});
  for (const std::span<const float> example : examples) {
    const std::vector<int32_t> units = UnitsOf(example, terms.grid);
    if (units.empty()) {
      continue;
    }
    std::vector<int64_t>& sum = sums[NearestOf(example, centres)];
    for (size_t i = 0; i < units.size(); ++i) {
      sum[i] += units[i];
    }
  }
  return sums;
}

absl::Status CheckPasses(std::span<const std::span<const float>> examples,
                         std::span<const std::vector<float>> anchors, const CentroidTerms& terms,
                         const DiscreteGaussian& noise) {
  const auto fits = [&terms](const auto& vector) { return vector.size() == terms.dimension; };
  if (anchors.size() != limits::kCentroidCells || !std::ranges::all_of(anchors, fits) ||
      !std::ranges::all_of(examples, fits) || noise.sigma() != terms.grid.sigma_units) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "cannot make centroids of {} values from {} centres; give {} centres and examples "
                 "of that size, and noise made for the terms",
                 terms.dimension, anchors.size(), limits::kCentroidCells);
  }
  if (examples.size() > limits::kMaxCentroidExamples) {
    return Error(
        absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
        "a release of centroids has {} examples, more than the limit of {}; use the newest ones",
        examples.size(), limits::kMaxCentroidExamples);
  }
  return absl::OkStatus();
}

// Returns a threshold for the squared norm of a noised sum, in squares of the noise's standard
// deviation. A sum above it shows that the norm without noise is above `least_examples`: otherwise
// a noncentral chi-square variable of `dimension` degrees of freedom exceeds it with a probability
// of at most e^-x (Birge 2001, "An alternative point of view on Lepski's method", lemma 8.1), which
// for all cells together is kCentroidDeception.
double SquareAbove(const CentroidTerms& terms) {
  const double x =
      std::log(static_cast<double>(limits::kCentroidCells) / limits::kCentroidDeception);
  const double least = terms.least_examples / terms.grid.NoiseMultiplier();
  const auto degrees = static_cast<double>(terms.dimension);
  const double square = least * least;
  return degrees + square + 2 * std::sqrt((degrees + 2 * square) * x) + 2 * x;
}

}  // namespace

absl::StatusOr<CentroidTerms> MakeCentroidTerms(double noise_multiplier, size_t dimension,
                                                double least_examples) {
  if (dimension == 0 || !(least_examples >= limits::kMinCentroidExamples &&
                          least_examples <= double{limits::kMaxCentroidExamples})) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "cannot release centroids of {} values and at least {} examples; give {} to {} examples",
        dimension, least_examples, limits::kMinCentroidExamples, limits::kMaxCentroidExamples);
  }
  CentroidTerms terms{.dimension = dimension, .least_examples = least_examples};
  ASSIGN_OR_RETURN(terms.grid, MakeNoiseGrid(1, noise_multiplier * std::sqrt(kPasses), dimension));
  return terms;
}

double NoiseMultiplierOf(const CentroidTerms& terms) {
  return terms.grid.NoiseMultiplier() / std::sqrt(kPasses);
}

double SnrOf(const CentroidTerms& terms) {
  return terms.least_examples /
         (terms.grid.NoiseMultiplier() * std::sqrt(static_cast<double>(terms.dimension)));
}

absl::Status RequireCentroidSnr(const CentroidTerms& terms) {
  const double snr = SnrOf(terms);
  if (snr >= limits::kMinReleaseSnr) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kSignalTooWeak,
               "the predicted signal of a centroid of {} examples is {:.2g} of its noise ({} "
               "values, noise multiplier {:.3g}), below {}; allow a larger epsilon "
               "(privacy.centroid_epsilon); a centroid of {} examples would suffice",
               terms.least_examples, snr, terms.dimension, NoiseMultiplierOf(terms),
               limits::kMinReleaseSnr,
               std::ceil(terms.least_examples * limits::kMinReleaseSnr / snr));
}

std::vector<std::vector<float>> PublicAnchors(const Digest& seed, size_t dimension) {
  const Digest anchors = Sha256({AsBytes("ruvd dp anchors 1"), seed});
  uint64_t number = 0;
  std::memcpy(&number, anchors.data(), sizeof number);
  Random random(number);
  std::vector<std::vector<float>> centres;
  std::vector<float> values(dimension);
  for (size_t cell = 0; cell < limits::kCentroidCells; ++cell) {
    for (float& value : values) {
      value = static_cast<float>(random.Normal());
    }
    centres.push_back(DirectionOf(std::span<const float>(values)));
  }
  return centres;
}

absl::StatusOr<std::vector<NoisedSums>> RunNoisedPasses(
    std::span<const std::span<const float>> examples, std::span<const std::vector<float>> anchors,
    const CentroidTerms& terms, const DiscreteGaussian& noise, const RandomBytes& random) {
  RETURN_IF_ERROR(CheckPasses(examples, anchors, terms, noise));
  std::vector<NoisedSums> passes;
  std::vector<std::vector<float>> centres(anchors.begin(), anchors.end());
  for (size_t pass = 0; pass < limits::kCentroidPasses; ++pass) {
    passes.push_back(NoisedPass(examples, centres, terms, noise, random));
    for (size_t cell = 0; cell < centres.size(); ++cell) {
      centres[cell] = DirectionOf(std::span<const int64_t>(passes.back()[cell]));
    }
  }
  return passes;
}

std::vector<NoisedCentroid> CentroidsOf(const NoisedSums& last, const CentroidTerms& terms) {
  const double above = SquareAbove(terms);
  std::vector<NoisedCentroid> centroids;
  for (size_t cell = 0; cell < last.size(); ++cell) {
    double square = 0;
    for (const int64_t units : last[cell]) {
      const double value = static_cast<double>(units) / terms.grid.sigma_units;
      square += value * value;
    }
    if (square > above) {
      centroids.push_back(
          {.cell = cell, .direction = DirectionOf(std::span<const int64_t>(last[cell]))});
    }
  }
  return centroids;
}

}  // namespace ruvd::privacy::dp
