// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/connection_limits.h"

#include <gtest/gtest.h>

namespace ruvd::limits {
namespace {

TEST(ConnectionLimitsTest, ASourceMakesTheThreadOfHttpSignFewHandshakes) {
  constexpr size_t kDescriptors = 1 << 14;
  const transport::ConnectionLimits plain = HttpConnectionsWithin(kDescriptors, /*tls=*/false);
  const transport::ConnectionLimits tls = HttpConnectionsWithin(kDescriptors, /*tls=*/true);
  EXPECT_EQ(tls.opened_per_second, 100);
  EXPECT_LE(tls.opened_burst, 200);
  EXPECT_GT(plain.opened_per_second, tls.opened_per_second);
  EXPECT_EQ(plain.connections, tls.connections);
}

}  // namespace
}  // namespace ruvd::limits
