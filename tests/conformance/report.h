// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

namespace ruvd::conformance {

// Counts the cases and prints one line for each that does not pass or refuses a file.
class Report {
 public:
  void Pass() { ++passed_; }
  // Call this for a file that was refused as it must be; it also prints the message.
  void PassRefusal(std::string_view message);
  void Fail(std::string_view id, std::string_view why);
  // Prints "N passed, N failed, 0 skipped": a case that we cannot run has failed. Returns the
  // process's exit code.
  int Finish() const;

 private:
  int passed_ = 0;
  int failed_ = 0;
};

}  // namespace ruvd::conformance
