// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/conformance/report.h"

#include <fmt/format.h>

namespace ruvd::conformance {

void Report::PassRefusal(std::string_view message) {
  ++passed_;
  fmt::print("refused {}\n", message);
}

void Report::Fail(std::string_view id, std::string_view why) {
  ++failed_;
  fmt::print("FAILED  {}: {}\n", id, why);
}

int Report::Finish() const {
  fmt::print("{} passed, {} failed, 0 skipped\n", passed_, failed_);
  return failed_ == 0 ? 0 : 1;
}

}  // namespace ruvd::conformance
