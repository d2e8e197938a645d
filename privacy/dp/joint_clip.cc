// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/joint_clip.h"

#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {

absl::Status CheckBanks(Banks banks, std::span<const size_t> layout) {
  if (banks.size() != layout.size()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                 "an update has {} banks, but {} were agreed; send the banks of the round's layout",
                 banks.size(), layout.size());
  }
  size_t total = 0;
  for (size_t bank = 0; bank < banks.size(); ++bank) {
    if (banks[bank].size() != layout[bank]) {
      return Error(
          absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
          "bank {} has {} values, but {} were agreed; send the banks of the round's layout", bank,
          banks[bank].size(), layout[bank]);
    }
    if (layout[bank] > limits::kMaxUpdateValues - total) {
      return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                   "an update has more than {} values; share a smaller rank",
                   limits::kMaxUpdateValues);
    }
    total += layout[bank];
    for (const float value : banks[bank]) {
      if (!std::isfinite(value)) {
        return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
                     "bank {} holds a value that is not a finite number, because training "
                     "diverged; lower the learning rate",
                     bank);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ClipOutcome> ClipJointly(Banks banks, std::span<const size_t> layout,
                                        double clip_norm) {
  if (!(clip_norm > 0 && std::isfinite(clip_norm))) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "clip norm {} is not a finite number above 0; give a typical norm of public updates",
        clip_norm);
  }
  RETURN_IF_ERROR(CheckBanks(banks, layout));
  double squares = 0;
  for (const std::span<float> bank : banks) {
    for (const float value : bank) {
      squares += static_cast<double>(value) * value;
    }
  }
  ClipOutcome outcome{.norm = std::sqrt(squares)};
  if (outcome.norm <= clip_norm) {
    return outcome;
  }
  outcome.scale = clip_norm / outcome.norm;
  for (const std::span<float> bank : banks) {
    for (float& value : bank) {
      value = static_cast<float>(value * outcome.scale);
    }
  }
  return outcome;
}

}  // namespace ruvd::privacy::dp
