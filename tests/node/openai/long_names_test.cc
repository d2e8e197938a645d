// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error_details.h"
#include "node/openai/api_error.h"
#include "node/openai/completion_request.h"
#include "node/openai/limits.h"

namespace ruvd::openai {
namespace {

using nlohmann::json;

TEST(LongNamesTest, AnErrorShowsABoundedPartOfWhatItQuotes) {
  // JSON writes each of these bytes as six.
  const std::string long_name(1 << 20, '\x01');
  json request = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}};
  request[long_name] = 1;
  json role = {{"messages", {{{"role", long_name}, {"content", "Hi"}}}}};
  for (const json& bad : {request, role}) {
    const ApiError error = ErrorOf(ReadChatRequest(bad.dump(), "m").status());
    EXPECT_EQ(error.status, 400);
    EXPECT_LE(error.param.size(), limits::kMaxErrorFieldBytes);
    EXPECT_LE(error.message.size(), limits::kMaxErrorMessageBytes);
    EXPECT_LE(ErrorBody(error).size(), 6 * limits::kMaxErrorMessageBytes);
  }
}

}  // namespace
}  // namespace ruvd::openai
