// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/patterns/shared_pattern.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

TEST(SharedPattern, RoundTripsAndRefusesEveryTruncation) {
  federation::SharedPattern pattern = PatternOf(1);
  pattern.cores = SomeCores(2);
  const std::string bytes = federation::EncodeSharedPattern(pattern);
  const auto decoded = federation::DecodeSharedPattern(AsBytes(bytes));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, pattern);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(federation::DecodeSharedPattern(AsBytes(bytes.substr(0, length))).ok());
  }
  EXPECT_FALSE(federation::DecodeSharedPattern(AsBytes(bytes + "x")).ok());
}

// Found by payload_fuzz: zero floats were copied from a null pointer.
TEST(SharedPattern, EmptyCentroidIsRefused) {
  federation::SharedPattern pattern = PatternOf(1);
  pattern.centroid.clear();
  EXPECT_EQ(
      ReasonOf(federation::DecodeSharedPattern(AsBytes(federation::EncodeSharedPattern(pattern)))
                   .status()),
      reasons::kUpdateInvalid);
}

TEST(SharedPattern, ChecksEveryField) {
  const auto reason_of = [](auto change) {
    federation::SharedPattern pattern = PatternOf(1);
    change(pattern);
    return ReasonOf(federation::CheckSharedPattern(pattern, Patterns()));
  };
  EXPECT_EQ(reason_of([](auto&) {}), "");
  EXPECT_EQ(reason_of([](auto& p) { p.centroid.pop_back(); }), reasons::kWrongDimension);
  EXPECT_EQ(reason_of([](auto& p) { p.centroid[0] = std::nanf(""); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) { p.centroid[0] += 0.5F; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) { p.centroid.assign(16, 0); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) { p.quality = 1.1F; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) { p.quality = std::nanf(""); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) { p.examples = 0; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) { p.created_ms = 0; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) { p.bank = 2; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) { p.task = "a\nb"; }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) { p.task = std::string(65, 'a'); }), reasons::kUpdateInvalid);
  EXPECT_EQ(reason_of([](auto& p) {
              p.cores = SomeCores(1);
              p.cores[0].values.exponent = 30;
            }),
            reasons::kUpdateInvalid);
}

}  // namespace
}  // namespace ruvd::test
