// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/error_details.h"

#include <gtest/gtest.h>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {
namespace {

absl::Status Wrong() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "bank is 9");
}

TEST(ErrorDetailsTest, AFieldGoesWithTheError) {
  const absl::Status status = WithField(Wrong(), "bank");
  EXPECT_EQ(FieldOf(status), "bank");
  EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument);
  EXPECT_EQ(FieldOf(InField(status, "filter")), "filter.bank");
}

TEST(ErrorDetailsTest, WithoutAFieldNothingIsAdded) {
  EXPECT_EQ(FieldOf(Wrong()), "");
  EXPECT_EQ(FieldOf(InField(Wrong(), "filter")), "");
  EXPECT_EQ(FieldOf(WithField(WithField(Wrong(), "bank"), "")), "bank");
  EXPECT_TRUE(WithField(absl::OkStatus(), "bank").ok());
}

TEST(ErrorDetailsTest, ALongPathIsCut) {
  const std::string field = FieldOf(WithField(Wrong(), std::string(10'000, 'x')));
  EXPECT_EQ(field, std::string(limits::kMaxErrorFieldBytes, 'x'));
}

TEST(ErrorDetailsTest, ALimitGoesWithTheError) {
  const auto limit = LimitOf(WithLimit(Wrong(), {.limit = 64, .value = UINT64_MAX}));
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->limit, 64u);
  EXPECT_EQ(limit->value, UINT64_MAX);
  EXPECT_FALSE(LimitOf(Wrong()).has_value());
}

}  // namespace
}  // namespace ruvd
