// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/gossip/manifest.h"
#include "federation/limits.h"
#include "node/reasons.h"
#include "node/serving/store_pattern_index.h"
#include "node/sharing/limits.h"
#include "node/sharing/peer_patterns.h"
#include "node/sharing/shared_items.h"
#include "storage/patterns/pattern_store.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd::sharing {

inline constexpr uint32_t kPeerDimension = 4;

inline privacy::NodeId Node(uint8_t n) {
  privacy::NodeId id{};
  id.fill(n);
  return id;
}

inline federation::SharedPattern Shared(uint16_t n, int64_t created_ms) {
  federation::SharedPattern shared;
  shared.id[0] = static_cast<uint8_t>(n >> 8);
  shared.id[1] = static_cast<uint8_t>(n);
  shared.quality = 1;
  shared.examples = 1;
  shared.created_ms = created_ms;
  shared.centroid = {1, 0, 0, 0};
  return shared;
}

inline federation::Item WithdrawalOf(const privacy::NodeId& origin,
                                     const std::vector<storage::PatternId>& patterns,
                                     int64_t at_ms) {
  const auto record = privacy::Withdrawal::Sign(
      {}, /*everything=*/false, at_ms, privacy::NodeKey::FromSeed(privacy::KeySeed{1}), patterns);
  return {.kind = federation::ItemKind::kWithdrawal,
          .origin = origin,
          .payload = std::make_shared<const std::string>(record->Encode())};
}

inline federation::Item ItemOf(const federation::SharedPattern& shared,
                               const privacy::NodeId& origin) {
  return {.kind = federation::ItemKind::kPattern,
          .origin = origin,
          .payload = std::make_shared<const std::string>(federation::EncodeSharedPattern(shared))};
}

class PeerPatternsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    storage::PatternStoreOptions patterns;
    patterns.dimension = kPeerDimension;
    patterns.durability = durability();
    auto store = storage::PatternStore::Open(*database_, patterns);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    Load();
  }
  virtual storage::Durability durability() const { return storage::Durability::kProcessCrash; }
  // Loads the store as after a restart.
  void Load() {
    peers_ = std::make_unique<PeerPatterns>(*store_, nullptr, Node(1));
    ASSERT_TRUE(peers_->Load().ok());
  }
  int64_t StoredTime(uint16_t n) { return store_->Get(Shared(n, 0).id)->updated_ms; }

  std::unique_ptr<storage::PatternStore> store_;
  std::unique_ptr<PeerPatterns> peers_;
};

}  // namespace ruvd::sharing
