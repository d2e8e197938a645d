// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "federation/local_node.h"
#include "privacy/envelope/envelope.h"

namespace ruvd::federation {

// Signs this node's envelopes and numbers them, starting from 1 at every boot. Not thread-safe.
class Sealer {
 public:
  using Entropy = std::function<void(std::span<uint8_t>)>;
  // `local` must outlive the sealer.
  Sealer(const LocalNode& local, Entropy entropy) : local_(&local), entropy_(std::move(entropy)) {}

  absl::StatusOr<privacy::Envelope> Seal(privacy::EnvelopePurpose purpose, uint16_t body_type,
                                         uint64_t round, std::string body, int64_t created_ms,
                                         int64_t expires_ms);
  void FillRandom(std::span<uint8_t> out) { entropy_(out); }

 private:
  const LocalNode* local_;
  Entropy entropy_;
  uint64_t next_seq_ = 1;
};

}  // namespace ruvd::federation
