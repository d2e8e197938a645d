// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What reading a token memory costs beside a forward: `token_memory --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/memory/memory_reader.h"
#include "inference/package/model_package.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Times of one step of a reader against one forward of 128 tokens of the same model, in turns "
    "on\n"
    "one machine: medians. Lessons are random, so neighbours match less often than in text; "
    "tokens\n"
    "follow the public frequencies. The reader uses one thread, the forward --threads.";

using inference::TokenId;
using std::chrono::steady_clock;

struct Arguments {
  std::string model;
  std::vector<size_t> tokens = {10'000, 100'000, 300'000};
  int threads = 2;
  int turns = 15;
};

double Seconds(const std::function<void()>& run) {
  const auto begun = steady_clock::now();
  run();
  return std::chrono::duration<double>(steady_clock::now() - begun).count();
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Draws tokens by their public frequency.
class TokenSource {
 public:
  explicit TokenSource(const inference::MemoryParameters& parameters) {
    double sum = 0;
    for (const float log_frequency : parameters.public_log_frequency) {
      sum += std::exp(static_cast<double>(log_frequency));
      sums_.push_back(sum);
    }
  }
  TokenId Next(Random& random) const {
    const double drawn = random.Uniform() * sums_.back();
    return static_cast<TokenId>(std::ranges::lower_bound(sums_, drawn) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

std::shared_ptr<const inference::TokenMemory> MakeMemory(
    const inference::MemoryParameters& parameters, const TokenSource& source, size_t tokens) {
  constexpr size_t kLesson = 128;
  constexpr size_t kContext = 4;
  Random random(1);
  std::vector<std::shared_ptr<const inference::MemoryRun>> runs;
  std::vector<float> hidden((kLesson - kContext) * static_cast<size_t>(parameters.width));
  for (size_t done = 0; done < tokens; done += kLesson - kContext) {
    std::vector<TokenId> lesson;
    for (size_t i = 0; i < kLesson; ++i) {
      lesson.push_back(source.Next(random));
    }
    for (float& value : hidden) {
      value = static_cast<float>(random.Normal());
    }
    std::vector<inference::MemoryObservation> observations;
    for (size_t i = 0; i < kLesson - kContext; ++i) {
      observations.push_back(
          {.hidden = std::span(hidden).subspan(i * static_cast<size_t>(parameters.width),
                                               static_cast<size_t>(parameters.width)),
           .probability = 0.1F,
           .t = 0.5F});
    }
    runs.push_back(
        inference::MemoryRun::Make(parameters, runs.size(), lesson, kContext, observations));
  }
  return std::make_shared<inference::TokenMemory>(runs);
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const inference::ModelPackage package,
                   inference::LoadModelPackage(arguments.model));
  RUVD_CHECK(package.memory != nullptr);
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(
      const auto transformer,
      inference::DefaultBackend().Load(
          package.model, {.precision = inference::Precision::kFast, .runner = runner}));
  const TokenSource source(*package.memory);
  Random random(2);
  constexpr size_t kWindow = 128;
  std::vector<TokenId> window;
  for (size_t i = 0; i < kWindow; ++i) {
    window.push_back(source.Next(random));
  }
  const auto vocabulary = static_cast<size_t>(package.model->config().vocabulary);
  fmt::print(
      "| tokens | bytes a token | forward, ms | 64 positions | 16 positions | 1 position |\n");
  for (const size_t tokens : arguments.tokens) {
    const auto memory = MakeMemory(*package.memory, source, tokens);
    inference::MemoryReader reader(package.memory, memory);
    std::vector<double> forwards;
    std::map<size_t, std::vector<double>> reads;
    inference::ForwardOutput output;
    for (int turn = 0; turn < arguments.turns; ++turn) {
      absl::Status status;
      forwards.push_back(
          Seconds([&] { status = transformer->Forward({.tokens = window}, &output); }));
      RETURN_IF_ERROR(status);
      for (const size_t count : {64, 16, 1}) {
        std::vector<int> positions;
        std::vector<TokenId> masked = window;
        for (size_t i = 0; i < count; ++i) {
          positions.push_back(static_cast<int>(kWindow - 2 * count + 2 * i));
          masked[static_cast<size_t>(positions.back())] = 0;
        }
        std::vector<float> hidden(
            output.hidden.begin(),
            output.hidden.begin() +
                static_cast<ptrdiff_t>(count * static_cast<size_t>(package.memory->width)));
        std::vector<float> logits(count * vocabulary);
        transformer->Logits(hidden, nullptr, logits);
        reads[count].push_back(Seconds([&] {
          // As the engine does: at most 32 rows at a time.
          for (size_t first = 0; first < count; first += 32) {
            const size_t rows = std::min<size_t>(32, count - first);
            reader.Mix({.tokens = masked, .mask = 0, .t = 0.5F, .masked = count},
                       std::span(positions).subspan(first, rows),
                       std::span(hidden).subspan(first * static_cast<size_t>(package.memory->width),
                                                 rows * static_cast<size_t>(package.memory->width)),
                       std::span(logits).subspan(first * vocabulary, rows * vocabulary));
          }
        }));
      }
    }
    const double forward = Median(forwards);
    fmt::print("| {} | {:.0f} | {:.2f} |", tokens,
               static_cast<double>(memory->bytes()) / static_cast<double>(memory->entries()),
               1e3 * forward);
    for (const size_t count : {64, 16, 1}) {
      const double read = Median(reads[count]);
      fmt::print(" {:.2f} ms = {:.2f} forwards |", 1e3 * read, read / forward);
    }
    fmt::print("\n");
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  app.add_option("--model", arguments.model, "GGUF file with its memory beside it")->required();
  app.add_option("--tokens", arguments.tokens, "sizes of the memory")->delimiter(',');
  app.add_option("--threads", arguments.threads, "of the forward")->check(CLI::Range(1, 64));
  app.add_option("--turns", arguments.turns)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = ruvd::bench::Run(arguments);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
    return 1;
  }
  return 0;
}
