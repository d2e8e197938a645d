// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the cases of a fixtures folder's manifest.json and prints one line for each that fails or
// is skipped, then the counts. Exit code 0: none failed; 1: some failed; 2: the manifest cannot be
// read; 77: there is no such folder (ctest's sign for "skipped").

#include <fmt/format.h>

#include <exception>
#include <filesystem>

#include "base/file.h"
#include "base/status.h"
#include "tests/conformance/suite.h"

namespace ruvd::conformance {
namespace {

constexpr int kUnreadable = 2;
constexpr int kAbsent = 77;

int Run(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    fmt::print(stderr, "{} is no folder; name the fixtures folder\n", folder.string());
    return kAbsent;
  }
  const auto text = ReadFile((folder / "manifest.json").string(), kMaxFixtureBytes);
  if (!text.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(text.status()));
    return kUnreadable;
  }
  Report report;
  const Suite suite{.folder = folder, .manifest = nlohmann::json::parse(*text), .report = &report};
  RunBlocks(suite);
  RunTokenizers(suite);
  RunBroken(suite);
  RunLogits(suite);
  RunGreedy(suite);
  RunDiffusion(suite);
  return report.Finish();
}

}  // namespace
}  // namespace ruvd::conformance

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: conformance FIXTURES_FOLDER\n");
    return ruvd::conformance::kUnreadable;
  }
  try {
    return ruvd::conformance::Run(argv[1]);
  } catch (const std::exception& error) {  // of nlohmann::json and std::filesystem
    fmt::print(stderr, "cannot read the fixtures: {}\n", error.what());
    return ruvd::conformance::kUnreadable;
  }
}
