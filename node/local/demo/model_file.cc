// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/demo/model_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kUsualModel[] = "ruvdllm-29m.q8_0.gguf";
constexpr char kSmallModel[] = "ruvdllm-5m.q8_0.gguf";

std::vector<fs::path> PlacesOf(ShippedModel shipped) {
  const char* const name = shipped == ShippedModel::kUsual ? kUsualModel : kSmallModel;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  // The program is build/PRESET/node/ruvd in a source tree and bin/ruvd when installed.
  return {folder / "../../../deploy/models" / name, folder / "../share/ruvd/models" / name};
}

}  // namespace

absl::StatusOr<std::string> FindModel(const CommandContext& context, const std::string& flag,
                                      ShippedModel shipped) {
  std::vector<fs::path> places;
  if (!flag.empty()) {
    places = {flag};
  } else if (const std::string variable = context.Variable("RUVD_MODEL__PATH"); !variable.empty()) {
    places = {variable};
  } else {
    places = PlacesOf(shipped);
  }
  std::vector<std::string> tried;
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) {
      return fs::canonical(place, error).string();
    }
    tried.push_back(place.lexically_normal());
  }
  return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
               "there is no model file at {}; name a GGUF file with --model or RUVD_MODEL__PATH",
               fmt::join(tried, " or "));
}

}  // namespace ruvd::cli
