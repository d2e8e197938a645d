// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api_limits.h"

#include <gtest/gtest.h>

#include "inference/sampler/sampler_kind.h"
#include "inference/tokenizer/chat_template.h"

namespace ruvd::api {
namespace {

TEST(ApiLimits, NamesForClientsAreThoseOfTheEngine) {
  EXPECT_EQ(limits::kSamplerNames, inference::SamplerNames());
  EXPECT_EQ(limits::kRemaskNames, inference::RemaskNames());
  EXPECT_EQ(limits::kChatFormatNames, inference::ChatFormatNames());
}

}  // namespace
}  // namespace ruvd::api
