// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/base64.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/random.h"

namespace ruvd {
namespace {

// The vectors of RFC 4648, section 10
TEST(Base64Test, TheVectorsOfTheStandard) {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(ToBase64(AsBytes(bytes)), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
}

TEST(Base64Test, EveryLengthComesBack) {
  Random random(1);
  std::string bytes;
  for (size_t size = 0; size < 300; ++size) {
    EXPECT_EQ(FromBase64(ToBase64(AsBytes(bytes))), bytes);
    bytes += static_cast<char>(random.Next());
  }
}

TEST(Base64Test, OneTextForEveryBytesAndNothingElse) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "=", "====", "Zh==", "Zm9=", "Zm9",
                           "Z-8=", "Zm8=Zm8=", "Zg==\n", " Zg=", "Zm8_", "Zg=g"}) {
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ruvd
