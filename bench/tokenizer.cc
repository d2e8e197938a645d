// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// How fast a text becomes tokens: tokenizer --model F --text F [--seconds S]. Prints one JSON line.

#include "inference/tokenizer/tokenizer.h"

#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "inference/gguf/reader.h"

namespace ruvd {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{1} << 30;

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

absl::Status Run(const std::string& model, const std::string& text_path, double seconds) {
  const double start = CpuSeconds();
  ASSIGN_OR_RETURN(const auto gguf, inference::GgufReader::Open(model));
  ASSIGN_OR_RETURN(const auto tokenizer, inference::Tokenizer::FromGguf(*gguf));
  const double load = CpuSeconds() - start;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(text_path, kMaxTextBytes));
  double best = 0;
  double spent = 0;
  size_t tokens = 0;
  bool same = true;
  int runs = 0;
  for (; runs == 0 || spent < seconds; ++runs) {
    const double before = CpuSeconds();
    const std::vector<inference::TokenId> ids = tokenizer->Encode(text);
    const double took = CpuSeconds() - before;
    best = runs == 0 ? took : std::min(best, took);
    spent += took;
    tokens = ids.size();
    same = same && (runs > 0 || tokenizer->Decode(ids) == text);
  }
  const double megabytes = 1e-6 * static_cast<double>(text.size());
  fmt::print(
      "{{\"bytes\": {}, \"tokens\": {}, \"mb_per_s\": {:.2f}, \"mb_per_s_mean\": {:.2f}, "
      "\"runs\": {}, \"decodes_back\": {}, \"load_ms_cpu\": {:.1f}}}\n",
      text.size(), tokens, megabytes / best, megabytes * runs / spent, runs, same, 1e3 * load);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruvd

int main(int argc, char** argv) {
  CLI::App app("Speed of the tokenizer on one core, by CPU time");
  std::string model;
  std::string text;
  double seconds = 3;
  app.add_option("--model", model, "GGUF file with a tokenizer")->required();
  app.add_option("--text", text, "Text file")->required();
  app.add_option("--seconds", seconds, "CPU time to spend; the best run counts");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = ruvd::Run(model, text, seconds);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
    return 1;
  }
  return 0;
}
