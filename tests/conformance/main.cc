// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the cases of a fixtures folder's manifest.json, models with float32 activations and with
// integer kernels unless --precision asks for one of them. Prints one line for each case that fails
// and the message of each refused file, then the counts. No case is skipped. Exit code 0: none
// failed; 1: some failed; 2: the manifest cannot be read; 77: there is no such folder (ctest's sign
// for "skipped").

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "tests/conformance/suite.h"

namespace ruvd::conformance {
namespace {

constexpr int kUnreadable = 2;
constexpr int kAbsent = 77;
constexpr char kUsage[] = "usage: conformance FIXTURES_FOLDER [--precision exact|fast|both]\n";

// Returns what the arguments after the folder ask for; empty for a mistake.
std::vector<inference::Precision> ReadPrecisions(std::span<char* const> arguments) {
  if (arguments.empty()) {
    return {inference::Precision::kExact, inference::Precision::kFast};
  }
  if (arguments.size() != 2 || std::string_view(arguments[0]) != "--precision") {
    return {};
  }
  const std::string_view name = arguments[1];
  if (name == "both") {
    return ReadPrecisions({});
  }
  for (const inference::Precision precision :
       {inference::Precision::kExact, inference::Precision::kFast}) {
    if (name == PrecisionName(precision)) {
      return {precision};
    }
  }
  return {};
}

int Run(const std::filesystem::path& folder, const std::vector<inference::Precision>& precisions) {
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
  std::set<std::string> used;
  const Suite suite{.folder = folder,
                    .manifest = nlohmann::json::parse(*text),
                    .precisions = precisions,
                    .report = &report,
                    .used = &used};
  RunBlocks(suite);
  RunTokenizers(suite);
  RunBroken(suite);
  RunLogits(suite);
  RunGreedy(suite);
  RunDiffusion(suite);
  RunFiles(suite);
  return report.Finish();
}

}  // namespace
}  // namespace ruvd::conformance

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<size_t>(argc));
  std::vector<ruvd::inference::Precision> precisions;
  if (argc >= 2) {
    precisions = ruvd::conformance::ReadPrecisions(arguments.subspan(2));
  }
  if (precisions.empty()) {
    fmt::print(stderr, ruvd::conformance::kUsage);
    return ruvd::conformance::kUnreadable;
  }
  try {
    return ruvd::conformance::Run(argv[1], precisions);
  } catch (const std::exception& error) {  // of nlohmann::json and std::filesystem
    fmt::print(stderr, "cannot read the fixtures: {}\n", error.what());
    return ruvd::conformance::kUnreadable;
  }
}
