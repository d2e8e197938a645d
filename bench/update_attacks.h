// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace ruvd::bench {

// What Byzantine nodes send if they know every honest update of the round.
enum class UpdateAttack : uint8_t {
  kNone,          // nothing: there are as many more honest nodes
  kCopies,        // copies of honest updates, each of another node
  kSignFlip3,     // -3 times the honest mean
  kSignFlip10,    // -10 times
  kGaussian,      // noise whose norm is 100 times the honest norm
  kAlie,          // honest mean less z standard deviations (Baruch et al. 2019), z = 1.22
  kInnerProduct,  // -0.5 times the honest mean (Xie et al. 2020)
  kMinMax,        // as far against the mean as honest updates lie apart (Shejwalkar et al. 2021)
  kMinSum,        // the same for the sum of squared distances
  kSybil,         // all send one honest-looking update of another signal
  kFreeRider,     // the first honest update with a tenth of its norm in noise
  kZero,          // zeros
};

// "none", "copies", "sign-flip-3", ...
std::string_view AttackName(UpdateAttack attack);
std::optional<UpdateAttack> AttackByName(std::string_view name);
std::span<const UpdateAttack> AllAttacks();

// Returns what the `liars` attackers send. There must be at least one honest update, and all must
// have equal length.
std::vector<std::vector<float>> Attack(UpdateAttack attack,
                                       std::span<const std::vector<float>> honest, size_t liars,
                                       Random& random);

}  // namespace ruvd::bench
