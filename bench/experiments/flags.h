// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ruvd::bench {

// The arguments that every experiment is given.
struct CommonArguments {
  std::string model;
  std::string corpus;
  std::string eval;
  std::string base;
  std::string out;
  int seeds = 1;
  int threads = 2;
};

// What some flags mean in an experiment.
struct CommonFlags {
  std::string eval;
  bool needs_eval = false;
  std::string base;  // what public text is for; "": the experiment has none
  std::string seeds;
};

// Adds --model, --corpus, --eval, --base, --seeds, --out and --threads. `arguments` must outlive
// the parsing.
void AddCommonFlags(const CommonFlags& flags, CLI::App* app, CommonArguments* arguments);

// Fills in the texts that are needed and were not given: general.valid.jsonl.zst for --eval and
// base-00.jsonl.zst for --base, from the corpus or the folder around it. NOT_FOUND names the flag.
absl::Status FindTexts(const CommonFlags& flags, CommonArguments* arguments);

// Returns whether a flag is among the arguments: one that decides the defaults of others is needed
// before these are parsed.
bool HasFlag(int argc, const char* const* argv, std::string_view flag);

// Parses, runs, and prints why a run failed. Returns the exit status.
int RunExperiment(CLI::App& app, int argc, char** argv, const std::function<absl::Status()>& run);

// Does the same for an experiment that finds out first whether a flag or a file is wrong. Returns 0
// if all is done, 1 if `run` failed and 2 for bad flags or if `prepare` failed.
int RunPrepared(CLI::App& app, int argc, char** argv, const std::function<absl::Status()>& prepare,
                const std::function<absl::Status()>& run);

}  // namespace ruvd::bench
