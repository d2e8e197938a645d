// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A transfer that loses its source continues with the next one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "federation/gossip/partial_payloads.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::IsEmpty;

Digest IdOf(const std::string& name) {
  return Sha256(name);
}

TEST(PartialPayloads, KeepWhatWasKeptLast) {
  federation::PartialPayloads partials(100);
  partials.Insert(IdOf("a"), std::string(40, 'a'));
  partials.Insert(IdOf("b"), std::string(40, 'b'));
  partials.Insert(IdOf("c"), std::string(40, 'c'));
  EXPECT_EQ(partials.bytes(), 80U);
  EXPECT_EQ(partials.Take(IdOf("a")), "");
  EXPECT_EQ(partials.Take(IdOf("b")), std::string(40, 'b'));
  EXPECT_EQ(partials.Take(IdOf("b")), "");
  partials.Insert(IdOf("c"), std::string(60, 'd'));
  EXPECT_EQ(partials.bytes(), 60U);
  partials.Insert(IdOf("e"), std::string(101, 'e'));
  partials.Insert(IdOf("f"), "");
  EXPECT_EQ(partials.bytes(), 60U);
  EXPECT_EQ(partials.Take(IdOf("c")), std::string(60, 'd'));
  EXPECT_EQ(partials.bytes(), 0U);
}

// Cores that take several chunks.
federation::UpdateRules LargeRules() {
  federation::UpdateRules rules;
  rules.banks = Updates().banks;
  for (const char* target : {"blk.0.attn_q.weight", "blk.0.attn_v.weight", "blk.0.ffn_up.weight",
                             "blk.0.ffn_down.weight"}) {
    rules.rank_of_target[target] = 256;
  }
  rules.max_norm = 100;
  return rules;
}

TEST(Transfer, GoesOnWhereTheLostSourceEnded) {
  CoreUnderTest target(
      0, [](federation::GossipConfig& config) { config.pattern_rules.cores = LargeRules(); });
  TestPeer first(target, 1, 7);
  TestPeer second(target, 2, 8);
  ASSERT_EQ(first.Dial().closed, "");
  ASSERT_EQ(second.Dial().closed, "");
  federation::SharedPattern pattern = PatternOf(1);
  pattern.cores = SomeCores(1, LargeRules());
  const std::string payload = federation::EncodeSharedPattern(pattern);
  ASSERT_GT(payload.size(), 3 * limits::kChunkBytes);
  const privacy::Envelope envelope = first.Manifest(federation::ItemKind::kPattern, payload);
  Answers asked = first.Push(envelope);
  for (uint32_t chunk = 0; chunk < 2; ++chunk) {
    ASSERT_NE(asked.Find(WireFrame::kChunkRequest), nullptr);
    ASSERT_EQ(asked.Find(WireFrame::kChunkRequest)->chunk_request().index(), chunk);
    asked = first.Send(
        TestPeer::ChunkOf(asked.Find(WireFrame::kChunkRequest)->chunk_request(), payload));
  }
  target.core().OnLinkClosed(first.link(), target.now());
  target.core().OnTick(target.now());
  const Answers again = second.Push(envelope);
  ASSERT_NE(again.Find(WireFrame::kChunkRequest), nullptr);
  EXPECT_EQ(again.Find(WireFrame::kChunkRequest)->chunk_request().index(), 2U);
  const Answers done = second.Serve(again, payload);
  EXPECT_THAT(done.refused, IsEmpty());
  ASSERT_EQ(done.accepted.size(), 1U);
  EXPECT_EQ(*done.accepted[0].payload, payload);
  EXPECT_EQ(target.core().counters().payload_bytes_received, payload.size());
}

}  // namespace
}  // namespace ruvd::test
