// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/limit_registry.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/limit_counter.h"

namespace ruvd {
namespace {

TEST(LimitRegistry, ReadsAllPartsByNameAsTheyAreNow) {
  LimitRegistry registry;
  LimitCounter links;
  registry.Add([&links]() -> std::vector<LimitUse> {
    return {{"links", LimitScope::kLink, "links", 3, links.used(), links.refused()}};
  });
  registry.Add([]() -> std::vector<LimitUse> {
    return {{"rows", LimitScope::kOrigin, "rows", 5, 4, 0},
            {"bytes", LimitScope::kSystem, "bytes", 9, 0, 2}};
  });
  links.SetUsed(2);
  links.Refuse();
  const std::vector<LimitUse> all = registry.Read();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "bytes");
  EXPECT_EQ(all[1].name, "links");
  EXPECT_EQ(all[1].used, 2u);
  EXPECT_EQ(all[1].refused, 1u);
  EXPECT_EQ(all[2].name, "rows");
  EXPECT_EQ(all[2].scope, LimitScope::kOrigin);
}

}  // namespace
}  // namespace ruvd
