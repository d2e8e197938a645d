// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/enum_name.h"

#include <gtest/gtest.h>

#include "grpc/health/v1/health.pb.h"
#include "ruvd/adapter/v1/adapter.pb.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/pattern/v1/pattern.pb.h"

namespace ruvd::cli {
namespace {

TEST(EnumNameTest, TheNameLosesThePrefixOfItsType) {
  EXPECT_EQ(EnumName(cluster::v1::MEMBER_STATE_ALIVE), "alive");
  EXPECT_EQ(EnumName(cluster::v1::EXPERT_STANDING_GENERAL_TEXT_WORSE), "general_text_worse");
  EXPECT_EQ(EnumName(adapter::v1::ADAPTER_KIND_MICRO_LORA), "micro_lora");
}

TEST(EnumNameTest, ATypeInsideAMessageHasItsOwnPrefix) {
  EXPECT_EQ(EnumName(pattern::v1::WatchPatternsResponse::CHANGE_KIND_EVICT), "evict");
  EXPECT_EQ(EnumName(pattern::v1::UpsertPatternResponse::OUTCOME_KEPT), "kept");
}

TEST(EnumNameTest, WhatIsUnspecifiedHasNoName) {
  EXPECT_EQ(EnumName(cluster::v1::MEMBER_STATE_UNSPECIFIED), "");
  EXPECT_EQ(EnumName(pattern::v1::WatchPatternsResponse::CHANGE_KIND_UNSPECIFIED), "");
}

TEST(EnumNameTest, ANumberThatOnlyANewerNodeKnowsIsShown) {
  EXPECT_EQ(EnumName(static_cast<cluster::v1::MemberState>(77)), "77");
  EXPECT_EQ(EnumName(static_cast<cluster::v1::MemberState>(-1)), "-1");
}

// The published protocol does not follow our names.
TEST(EnumNameTest, ATypeWithoutPrefixKeepsItsNames) {
  EXPECT_EQ(EnumName(grpc::health::v1::HealthCheckResponse::NOT_SERVING), "not_serving");
  EXPECT_EQ(EnumName(grpc::health::v1::HealthCheckResponse::UNKNOWN), "unknown");
}

}  // namespace
}  // namespace ruvd::cli
