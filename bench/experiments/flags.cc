// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::bench {
namespace {

constexpr std::string_view kGeneralFile = "general.valid.jsonl.zst";
constexpr std::string_view kPublicFile = "base-00.jsonl.zst";

absl::Status FindText(std::string_view flag, std::string_view name, const std::string& corpus,
                      std::string* path) {
  const std::filesystem::path folder(corpus);
  for (const auto& place : {folder / name, folder / ".." / name}) {
    std::error_code ignored;  // a path that cannot be examined counts as missing
    if (path->empty() && std::filesystem::is_regular_file(place, ignored)) {
      *path = place.string();
    }
  }
  return !path->empty() ? absl::OkStatus()
                        : Error(absl::StatusCode::kNotFound, reasons::kInvalidArgument,
                                "neither {} nor the folder around it has {}; name a file of such "
                                "text with {}",
                                corpus, name, flag);
}

// Prints an error. Returns the exit status, which is `failed` for one.
int StatusOf(const absl::Status& status, int failed) {
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(status));
  }
  return status.ok() ? 0 : failed;
}

}  // namespace

void AddCommonFlags(const CommonFlags& flags, CLI::App* app, CommonArguments* arguments) {
  app->add_option("--model", arguments->model, "GGUF file")->required();
  app->add_option("--corpus", arguments->corpus, "folder of NAME.train and NAME.valid .jsonl.zst")
      ->required();
  app->add_option("--eval", arguments->eval,
                  flags.needs_eval ? fmt::format("{}; default: {} of the corpus or around it",
                                                 flags.eval, kGeneralFile)
                                   : flags.eval);
  if (!flags.base.empty()) {
    app->add_option(
        "--base", arguments->base,
        fmt::format("{}; default: {} of the corpus or around it", flags.base, kPublicFile));
  }
  app->add_option("--seeds", arguments->seeds, flags.seeds)->check(CLI::Range(1, 100));
  app->add_option("--out", arguments->out, "file of the results, JSON");
  app->add_option("--threads", arguments->threads)->check(CLI::Range(1, 64));
}

absl::Status FindTexts(const CommonFlags& flags, CommonArguments* arguments) {
  if (flags.needs_eval) {
    RETURN_IF_ERROR(FindText("--eval", kGeneralFile, arguments->corpus, &arguments->eval));
  }
  return flags.base.empty() ? absl::OkStatus()
                            : FindText("--base", kPublicFile, arguments->corpus, &arguments->base);
}

bool HasFlag(int argc, const char* const* argv, std::string_view flag) {
  return std::any_of(argv, argv + argc, [&](const char* argument) { return argument == flag; });
}

int RunExperiment(CLI::App& app, int argc, char** argv, const std::function<absl::Status()>& run) {
  CLI11_PARSE(app, argc, argv);
  return StatusOf(run(), 1);
}

int RunPrepared(CLI::App& app, int argc, char** argv, const std::function<absl::Status()>& prepare,
                const std::function<absl::Status()>& run) {
  constexpr int kBadInput = 2;
  constexpr int kGoOn = -1;
  const int parsed = [&] {
    CLI11_PARSE(app, argc, argv);
    return kGoOn;
  }();
  if (parsed != kGoOn) {
    return parsed == 0 ? 0 : kBadInput;
  }
  const int prepared = StatusOf(prepare(), kBadInput);
  return prepared == 0 ? StatusOf(run(), 1) : prepared;
}

}  // namespace ruvd::bench
