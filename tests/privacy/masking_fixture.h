// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "privacy/masking/masked_sum.h"
#include "privacy/masking/masking_session.h"

namespace ruvd::privacy::masking {

inline dp::RandomBytes Seeded(Random& random) {
  return [&random](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random.Next() >> 56);
    }
  };
}

// Nodes that all offered to take part in one round.
class MaskingTest : public testing::Test {
 protected:
  static constexpr uint64_t kRound = 12;

  static NodeId IdOf(size_t node) {
    NodeId id{};
    id[0] = static_cast<uint8_t>(7 * node + 1);
    return id;
  }

  void Start(size_t nodes) {
    sessions_.clear();
    for (size_t node = 0; node < nodes; ++node) {
      sessions_.push_back(MaskingSession::Begin({.cluster = {5}, .round = kRound}, layout_,
                                                IdOf(node), Seeded(random_))
                              .value());
    }
    for (MaskingSession& to : sessions_) {
      for (size_t from = 0; from < nodes; ++from) {
        ASSERT_TRUE(to.AddOffer(IdOf(from), sessions_[from].offer()).ok());
      }
    }
  }

  // Returns the clique of the first `nodes`, as the first node proposes it.
  Clique FirstOf(size_t nodes) {
    std::vector<NodeId> others;
    for (size_t node = 1; node < nodes; ++node) {
      others.push_back(IdOf(node));
    }
    return sessions_[0].CliqueOf(others).value();
  }

  static MaskInput InputOf(const Clique& clique, std::vector<int32_t> units) {
    return {.contributors = static_cast<uint32_t>(clique.members.size()),
            .units = std::move(units)};
  }

  std::vector<int32_t> RandomUnits() {
    std::vector<int32_t> units(layout_.Values());
    for (int32_t& unit : units) {
      unit = static_cast<int32_t>(random_.Below(2001)) - 1000;
    }
    return units;
  }

  Random random_{4};
  MaskLayout layout_ = {.model_hash = {1},
                        .frame_id = {2},
                        .bank_values = {40, 25},
                        .grid = {.exponent = -9, .clip_units = 512, .sigma_units = 512},
                        .colluders = 1};
  std::vector<MaskingSession> sessions_;
};

}  // namespace ruvd::privacy::masking
