// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <string>

#include "base/reasons.h"

namespace ruvd {
namespace {

using ::testing::HasSubstr;

absl::Status Broken() {
  return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound, "file {} has {} bytes", "x", 3);
}

TEST(Status, ErrorCarriesCodeReasonAndMessage) {
  const absl::Status status = Broken();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(status), "FILE_NOT_FOUND");
  EXPECT_EQ(MessageOf(status), "file x has 3 bytes");
}

TEST(Status, WithoutReasonItIsEmpty) {
  EXPECT_EQ(ReasonOf(absl::OkStatus()), "");
  EXPECT_EQ(ReasonOf(absl::InternalError("x")), "");
  EXPECT_EQ(ReasonOf(MakeError(absl::StatusCode::kInternal, "", "x")), "");
  EXPECT_EQ(MessageOf(absl::OkStatus()), "");
}

TEST(Status, AnnotateKeepsCodeAndReason) {
  const absl::Status status = Annotate(Broken(), "loading y");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(status), reasons::kFileNotFound);
  EXPECT_EQ(MessageOf(status), "loading y: file x has 3 bytes");
  EXPECT_TRUE(Annotate(absl::OkStatus(), "loading y").ok());
}

absl::Status ReturnIf(const absl::Status& status, int& passed) {
  RETURN_IF_ERROR(status);
  ++passed;
  return absl::OkStatus();
}

TEST(Status, ReturnIfErrorReturnsOnlyErrors) {
  int passed = 0;
  EXPECT_EQ(ReasonOf(ReturnIf(Broken(), passed)), reasons::kFileNotFound);
  EXPECT_EQ(passed, 0);
  EXPECT_TRUE(ReturnIf(absl::OkStatus(), passed).ok());
  EXPECT_EQ(passed, 1);
}

absl::StatusOr<std::unique_ptr<int>> Make(bool good) {
  if (!good) {
    return Broken();
  }
  return std::make_unique<int>(5);
}

absl::StatusOr<int> AddTwo(bool first, bool second) {
  ASSIGN_OR_RETURN(const auto a, Make(first));
  std::unique_ptr<int> b;
  ASSIGN_OR_RETURN(b, Make(second));
  return *a + *b;
}

TEST(Status, AssignOrReturnMovesValuesAndReturnsErrors) {
  EXPECT_EQ(AddTwo(true, true).value(), 10);
  EXPECT_EQ(ReasonOf(AddTwo(false, true).status()), reasons::kFileNotFound);
  EXPECT_EQ(ReasonOf(AddTwo(true, false).status()), reasons::kFileNotFound);
}

TEST(StatusDeathTest, CheckAbortsWithTheCondition) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  RUVD_CHECK(1 + 1 == 2);
  EXPECT_DEATH(RUVD_CHECK(1 + 1 == 3), "status_test.cc.*check failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace ruvd
