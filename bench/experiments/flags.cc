// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/flags.h"

#include <fmt/format.h>

#include "base/status.h"

namespace ruvd::bench {

void AddCommonFlags(const CommonFlags& flags, CLI::App* app, CommonArguments* arguments) {
  if (flags.one_model) {
    app->add_option("--model", arguments->model, "GGUF file")->required();
  }
  app->add_option("--corpus", arguments->corpus, "folder of NAME.train and NAME.valid .jsonl.zst")
      ->required();
  app->add_option("--eval", arguments->eval, flags.eval)->required(flags.needs_eval);
  app->add_option("--seeds", arguments->seeds, flags.seeds)->check(CLI::Range(1, 100));
  app->add_option("--out", arguments->out, "file of the results, JSON");
  app->add_option("--threads", arguments->threads)->check(CLI::Range(1, 64));
}

int RunExperiment(CLI::App& app, int argc, char** argv, const std::function<absl::Status()>& run) {
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = run();
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", MessageOf(status));
  }
  return status.ok() ? 0 : 1;
}

}  // namespace ruvd::bench
