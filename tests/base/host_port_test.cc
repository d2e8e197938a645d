// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/host_port.h"

#include <gtest/gtest.h>

namespace ruvd {
namespace {

TEST(HostPortTest, ReadsHostsAndPorts) {
  EXPECT_EQ(ParseHostPort("127.0.0.1:0")->port, 0);
  EXPECT_EQ(ParseHostPort("host:7420")->host, "host");
  EXPECT_EQ(ParseHostPort("[::1]:1")->host, "::1");
  EXPECT_EQ(ParseHostPort("[fe80::1%eth0]:1")->host, "fe80::1%eth0");
  for (const char* wrong : {"",
                            ":1",
                            "host",
                            "host:",
                            "host:x",
                            "host:65536",
                            "host:-1",
                            "::1:1",
                            "ho st:1",
                            "a/b:1",
                            "host:1 ",
                            "[]:1",
                            "unix:/run/x:1",
                            "unix-abstract:x:1",
                            "dns://resolver/host:1",
                            "dns:host:1",
                            "ipv4:127.0.0.1:1",
                            "a,b:1",
                            "user@host:1",
                            "host%00:1",
                            "h\xc3\xb6st:1"}) {
    EXPECT_FALSE(ParseHostPort(wrong).has_value()) << wrong;
  }
}

TEST(HostPortTest, KnowsLoopback) {
  for (const char* own : {"localhost", "127.0.0.1", "127.3.2.1", "::1"}) {
    EXPECT_TRUE(IsLoopback(own)) << own;
  }
  for (const char* other : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "node.example", ""}) {
    EXPECT_FALSE(IsLoopback(other)) << other;
  }
}

TEST(HostPortTest, KnowsWhatAnAddressReaches) {
  for (const char* own :
       {"localhost", "LocalHost.", "a.localhost", "127.0.0.1", "0.0.0.0", "0.1.2.3", "127.1",
        "2130706433", "0x7f000001", "::", "::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0"}) {
    EXPECT_EQ(ReachOf(own), HostReach::kThisMachine) << own;
  }
  for (const char* line : {"169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.0.1"}) {
    EXPECT_EQ(ReachOf(line), HostReach::kThisLine) << line;
  }
  for (const char* many : {"224.0.0.1", "255.255.255.255", "ff02::1"}) {
    EXPECT_EQ(ReachOf(many), HostReach::kMany) << many;
  }
  for (const char* other :
       {"10.0.0.1", "192.0.2.1", "2001:db8::1", "node.example", "localhosts", "::ffff:10.0.0.1"}) {
    EXPECT_EQ(ReachOf(other), HostReach::kAnywhere) << other;
  }
}

}  // namespace
}  // namespace ruvd
