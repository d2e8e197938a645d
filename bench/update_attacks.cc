// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/update_attacks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

namespace ruvd::bench {
namespace {

using Vector = std::vector<float>;

constexpr std::array<std::pair<UpdateAttack, std::string_view>, 12> kNames = {
    {{UpdateAttack::kNone, "none"},
     {UpdateAttack::kCopies, "copies"},
     {UpdateAttack::kSignFlip3, "sign-flip-3"},
     {UpdateAttack::kSignFlip10, "sign-flip-10"},
     {UpdateAttack::kGaussian, "gaussian"},
     {UpdateAttack::kAlie, "alie"},
     {UpdateAttack::kInnerProduct, "inner-product"},
     {UpdateAttack::kMinMax, "min-max"},
     {UpdateAttack::kMinSum, "min-sum"},
     {UpdateAttack::kSybil, "sybil"},
     {UpdateAttack::kFreeRider, "free-rider"},
     {UpdateAttack::kZero, "zero"}}};

constexpr std::array<UpdateAttack, 11> kAttacks = {
    UpdateAttack::kCopies,    UpdateAttack::kSignFlip3, UpdateAttack::kSignFlip10,
    UpdateAttack::kGaussian,  UpdateAttack::kAlie,      UpdateAttack::kInnerProduct,
    UpdateAttack::kMinMax,    UpdateAttack::kMinSum,    UpdateAttack::kSybil,
    UpdateAttack::kFreeRider, UpdateAttack::kZero};

double SquaredNorm(const Vector& a) {
  double sum = 0;
  for (const float v : a) {
    sum += double{v} * v;
  }
  return sum;
}

double SquaredDistance(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = double{a[i]} - double{b[i]};
    sum += d * d;
  }
  return sum;
}

Vector MeanOf(std::span<const Vector> honest) {
  Vector mean(honest[0].size());
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const Vector& update : honest) {
      sum += double{update[i]};
    }
    mean[i] = static_cast<float>(sum / static_cast<double>(honest.size()));
  }
  return mean;
}

Vector Scaled(Vector vector, double factor) {
  for (float& v : vector) {
    v = static_cast<float>(factor * double{v});
  }
  return vector;
}

Vector Normal(size_t length, double norm, Random& random) {
  Vector vector(length);
  for (float& v : vector) {
    v = static_cast<float>(norm / std::sqrt(static_cast<double>(length)) * random.Normal());
  }
  return vector;
}

// mean - z * the standard deviation of every coordinate.
Vector LittleIsEnough(std::span<const Vector> honest, double z) {
  Vector lie = MeanOf(honest);
  for (size_t i = 0; i < lie.size(); ++i) {
    double variance = 0;
    for (const Vector& update : honest) {
      const double d = double{update[i]} - double{lie[i]};
      variance += d * d;
    }
    lie[i] -= static_cast<float>(z * std::sqrt(variance / static_cast<double>(honest.size())));
  }
  return lie;
}

// mean - gamma * mean / |mean| with the largest gamma whose cost is within the bound, by halving.
Vector AgainstTheMean(std::span<const Vector> honest,
                      const std::function<double(const Vector&)>& cost, double bound) {
  const Vector mean = MeanOf(honest);
  const double norm = std::sqrt(SquaredNorm(mean));
  const auto at = [&](double gamma) { return Scaled(mean, 1 - gamma / std::max(norm, 1e-30)); };
  double low = 0;
  double high = 10 * std::sqrt(bound) + 1e-12;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (cost(at(middle)) <= bound ? low : high) = middle;
  }
  return at(low);
}

double FarthestOf(const Vector& lie, std::span<const Vector> honest) {
  double farthest = 0;
  for (const Vector& update : honest) {
    farthest = std::max(farthest, SquaredDistance(lie, update));
  }
  return farthest;
}

double SumOf(const Vector& lie, std::span<const Vector> honest) {
  double sum = 0;
  for (const Vector& update : honest) {
    sum += SquaredDistance(lie, update);
  }
  return sum;
}

Vector WithinCost(std::span<const Vector> honest,
                  double (*cost)(const Vector&, std::span<const Vector>)) {
  double bound = 0;
  for (const Vector& update : honest) {
    bound = std::max(bound, cost(update, honest));
  }
  return AgainstTheMean(honest, [&](const Vector& lie) { return cost(lie, honest); }, bound);
}

// One lie that all attackers tell; the attacks whose lies differ by attacker are made in Attack.
Vector Lie(UpdateAttack attack, std::span<const Vector> honest, Random& random) {
  const size_t length = honest[0].size();
  switch (attack) {
    case UpdateAttack::kSignFlip3:
      return Scaled(MeanOf(honest), -3);
    case UpdateAttack::kSignFlip10:
      return Scaled(MeanOf(honest), -10);
    case UpdateAttack::kAlie:
      return LittleIsEnough(honest, 1.22);
    case UpdateAttack::kInnerProduct:
      return Scaled(MeanOf(honest), -0.5);
    case UpdateAttack::kMinMax:
      return WithinCost(honest, &FarthestOf);
    case UpdateAttack::kMinSum:
      return WithinCost(honest, &SumOf);
    case UpdateAttack::kSybil:
      return Normal(length, std::sqrt(SquaredNorm(honest[0])), random);
    default:
      return Vector(length);
  }
}

}  // namespace

std::string_view AttackName(UpdateAttack attack) {
  return std::ranges::find(kNames, attack, &decltype(kNames)::value_type::first)->second;
}

std::optional<UpdateAttack> AttackByName(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &decltype(kNames)::value_type::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

std::span<const UpdateAttack> AllAttacks() {
  return kAttacks;
}

std::vector<Vector> Attack(UpdateAttack attack, std::span<const Vector> honest, size_t liars,
                           Random& random) {
  std::vector<Vector> lies;
  const double norm = std::sqrt(SquaredNorm(honest[0]));
  const Vector common = Lie(attack, honest, random);
  for (size_t liar = 0; liar < liars && attack != UpdateAttack::kNone; ++liar) {
    switch (attack) {
      case UpdateAttack::kCopies:
        lies.push_back(honest[liar % honest.size()]);
        break;
      case UpdateAttack::kGaussian:
        lies.push_back(Normal(common.size(), 100 * norm, random));
        break;
      case UpdateAttack::kFreeRider: {
        lies.push_back(Normal(common.size(), 0.1 * norm, random));
        for (size_t i = 0; i < common.size(); ++i) {
          lies.back()[i] += honest[0][i];
        }
        break;
      }
      default:
        lies.push_back(common);
    }
  }
  return lies;
}

}  // namespace ruvd::bench
