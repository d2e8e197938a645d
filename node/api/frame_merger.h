// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::api {

// Makes one denoising frame of those that came since the last one was sent, so that a viewer who
// gets fewer frames still sees every position as it is. Not thread-safe.
class FrameMerger {
 public:
  // Adds the frame of the next step.
  void Add(const inference::v1::DenoiseFrame& frame);
  // Returns what changed since the last Take: the numbers of the newest step, the last commit of
  // each position and the positions that are masks again. nullopt if no frame was added.
  std::optional<inference::v1::DenoiseFrame> Take();

 private:
  std::optional<inference::v1::DenoiseFrame> newest_;  // without commits and remasked positions
  std::map<uint32_t, inference::v1::Commit> commits_;  // by position
  std::set<uint32_t> remasked_;
};

}  // namespace ruvd::api
