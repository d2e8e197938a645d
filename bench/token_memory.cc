// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What reading a token memory costs beside a forward: `token_memory --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/evaluate/text_documents.h"
#include "inference/memory/learning/observe_lesson.h"
#include "inference/memory/memory_reader.h"
#include "inference/package/model_package.h"
#include "node/learning/lesson_memory.h"
#include "node/serving/extensions/lesson_memories.h"
#include "privacy/seal/seal.h"
#include "storage/tokens/observed_store.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Times of reading a memory at 64, 16 and one open positions against one forward of the same\n"
    "model over a window with as many open positions, and of reading at the end of the window\n"
    "against decoding one token from left to right, in turns on one machine: medians. Lessons\n"
    "are pieces of 128 tokens of a text, observed by the model; the window is the end of the "
    "text.\n"
    "Reader and forward use the same threads. With --folder, also what it takes to remember one\n"
    "more lesson, from reading it until completions see it and it is kept, and what a start takes\n"
    "to restore the memory from a store in that folder.";

using inference::TokenId;
using std::chrono::steady_clock;

struct Arguments {
  std::string model;
  std::string text;
  std::vector<size_t> tokens = {10'000, 100'000, 300'000};
  size_t window = 512;
  std::string folder;
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

absl::StatusOr<std::vector<TokenId>> ReadTokens(const Arguments& arguments,
                                                const inference::Tokenizer& tokenizer) {
  ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                   inference::ReadTextDocuments(arguments.text));
  const size_t wanted = std::ranges::max(arguments.tokens) + arguments.window;
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < texts.size() && tokens.size() < wanted; ++i) {
    const std::vector<TokenId> own = tokenizer.Encode(texts[i]);
    tokens.insert(tokens.end(), own.begin(), own.end());
  }
  if (tokens.size() < wanted) {
    return absl::InvalidArgumentError(
        fmt::format("{} has {} tokens, but {} are needed: name a longer text, or smaller memories",
                    arguments.text, tokens.size(), wanted));
  }
  tokens.resize(wanted);
  return tokens;
}

constexpr size_t kLesson = 128;  // tokens

using Runs = std::vector<std::shared_ptr<const inference::MemoryRun>>;

absl::StatusOr<Runs> ObserveRuns(inference::Transformer& transformer,
                                 const inference::MemoryParameters& parameters,
                                 std::span<const TokenId> tokens) {
  Random random(1);
  Runs runs;
  for (; tokens.size() >= kLesson; tokens = tokens.subspan(kLesson)) {
    const std::span<const TokenId> lesson = tokens.first(kLesson);
    ASSIGN_OR_RETURN(const inference::ObservedLesson observed,
                     ObserveLesson(transformer, lesson, 1, /*causal=*/false, random));
    runs.push_back(RunOf(parameters, runs.size(), lesson, observed));
  }
  return runs;
}

// A window with open positions, and what the model says about them.
struct OpenWindow {
  std::vector<TokenId> tokens;
  std::vector<int> positions;
  std::vector<float> hidden;
  std::vector<float> logits;
};

OpenWindow Open(TokenId mask, std::span<const TokenId> tokens, size_t count) {
  OpenWindow window{.tokens = {tokens.begin(), tokens.end()}};
  for (size_t i = 0; i < count; ++i) {
    window.positions.push_back(static_cast<int>(tokens.size() - 2 * (count - i)));
    window.tokens[static_cast<size_t>(window.positions.back())] = mask;
  }
  return window;
}

absl::Status Predict(inference::Transformer& transformer, OpenWindow* window) {
  const inference::ModelConfig& config = transformer.model().config();
  const auto width = static_cast<size_t>(config.width);
  inference::ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward({.tokens = window->tokens}, &output));
  window->hidden.clear();
  for (const int position : window->positions) {
    const auto row = static_cast<size_t>(position - (config.shift_logits ? 1 : 0));
    const std::span<const float> own = std::span(output.hidden).subspan(row * width, width);
    window->hidden.insert(window->hidden.end(), own.begin(), own.end());
  }
  window->logits.resize(window->positions.size() * static_cast<size_t>(config.vocabulary));
  transformer.Logits(window->hidden, nullptr, window->logits);
  return absl::OkStatus();
}

// Reads as the engine does: at most 32 rows at a time.
void Read(inference::MemoryReader& reader, TokenId mask, const OpenWindow& window,
          std::span<float> logits) {
  const size_t count = window.positions.size();
  const size_t width = window.hidden.size() / count;
  const size_t vocabulary = logits.size() / count;
  for (size_t first = 0; first < count; first += 32) {
    const size_t rows = std::min<size_t>(32, count - first);
    reader.Mix({.tokens = window.tokens,
                .mask = mask,
                .t = static_cast<float>(count) / static_cast<float>(window.tokens.size()),
                .masked = count},
               std::span(window.positions).subspan(first, rows),
               std::span(window.hidden).subspan(first * width, rows * width),
               logits.subspan(first * vocabulary, rows * vocabulary));
  }
}

// The model, its memory and what is read.
struct Setting {
  const inference::MemoryParameters& parameters;
  inference::Transformer& transformer;
  TokenId mask;
  std::span<const TokenId> end;  // of the text
  int turns;
};

void Print(const inference::TokenMemory& memory, std::string_view what,
           const std::vector<double>& forwards, const std::vector<double>& reads) {
  fmt::print("| {} | {:.0f} | {} | {:.2f} | {:.2f} | {:.2f} |\n", memory.entries(),
             static_cast<double>(memory.bytes()) / static_cast<double>(memory.entries()), what,
             1e3 * Median(forwards), 1e3 * Median(reads), Median(reads) / Median(forwards));
}

absl::Status TimeStep(const Setting& setting, size_t count, inference::MemoryReader& reader) {
  OpenWindow window = Open(setting.mask, setting.end, count);
  std::vector<double> forwards;
  std::vector<double> reads;
  for (int turn = 0; turn < setting.turns; ++turn) {
    absl::Status status;
    forwards.push_back(Seconds([&] { status = Predict(setting.transformer, &window); }));
    RETURN_IF_ERROR(status);
    reads.push_back(Seconds([&] { Read(reader, setting.mask, window, window.logits); }));
  }
  Print(reader.memory(), fmt::format("{} open", count), forwards, reads);
  return absl::OkStatus();
}

absl::Status TimeDecode(const Setting& setting, inference::MemoryReader& reader) {
  inference::KvCache cache(setting.transformer.model().config(),
                           static_cast<int>(setting.end.size()));
  inference::ForwardInput input{.tokens = setting.end.first(setting.end.size() - 1),
                                .attention = {.kind = inference::Attention::Kind::kCausal},
                                .cache = &cache,
                                .extend_cache = true};
  inference::ForwardOutput output;
  RETURN_IF_ERROR(setting.transformer.Forward(input, &output));
  input.tokens = setting.end.last(1);
  input.extend_cache = false;
  std::vector<float> logits(static_cast<size_t>(setting.transformer.model().config().vocabulary));
  const auto next = static_cast<int>(setting.end.size());
  std::vector<double> forwards;
  std::vector<double> reads;
  for (int turn = 0; turn < 10 * setting.turns; ++turn) {
    absl::Status status;
    forwards.push_back(Seconds([&] {
      status = setting.transformer.Forward(input, &output);
      setting.transformer.Logits(output.hidden, nullptr, logits);
    }));
    RETURN_IF_ERROR(status);
    reads.push_back(Seconds([&] {
      reader.Mix({.tokens = setting.end, .causal = true}, std::span(&next, 1), output.hidden,
                 logits);
    }));
  }
  Print(reader.memory(), "decode", forwards, reads);
  return absl::OkStatus();
}

constexpr char kUser[] = "user";

std::string NameOf(size_t lesson) {
  return fmt::format("lesson {}", lesson);
}

serving::RememberedLesson LessonOf(size_t number,
                                   const std::shared_ptr<const inference::MemoryRun>& run) {
  // Keys from left to right take as much time and space.
  return {.name = NameOf(number), .user_id = kUser, .masked = run, .causal = run};
}

// Remembers and keeps lessons as the memory loop of a node does, and restores them.
absl::Status TimeStart(const Setting& setting, const Arguments& arguments, const Runs& runs,
                       const std::shared_ptr<const inference::MemoryParameters>& parameters) {
  const std::string path = arguments.folder + "/store";
  std::filesystem::remove_all(path);
  const privacy::SealKey key = privacy::SealKey::Generate();
  const auto open = [&] { return storage::Database::Open({.path = path, .seal_key = key}); };
  std::vector<learning::LessonToRemember> wanted;
  std::vector<double> more;
  {
    ASSIGN_OR_RETURN(const auto database, open());
    storage::ObservedStore store(*database);
    serving::LessonMemories memories(parameters, SIZE_MAX, SystemClock());
    Random random(1);
    for (size_t i = 0; i < runs.size(); ++i) {
      wanted.push_back({.name = NameOf(i)});
      const bool timed = i + static_cast<size_t>(setting.turns) >= runs.size();
      absl::Status status;
      const double seconds = Seconds([&] {
        for (const bool causal : {false, true}) {
          if (timed) {
            status.Update(
                ObserveLesson(setting.transformer, runs[i]->tokens(), 1, causal, random).status());
          }
        }
        memories.Add(LessonOf(i, runs[i]));
        status.Update(
            store.Put(learning::ToKeep(*parameters, LessonOf(i, runs[i])), [] { return true; })
                .status());
      });
      RETURN_IF_ERROR(status);
      if (timed) {
        more.push_back(seconds);
      }
    }
  }
  ASSIGN_OR_RETURN(const auto database, open());
  storage::ObservedStore store(*database);
  learning::LearningServices services{.clock = &SystemClock()};
  serving::LessonMemories memories(parameters, SIZE_MAX, SystemClock());
  absl::Status status;
  const double start = Seconds([&] {
    auto kept = learning::ReadKeptLessons(services, *parameters, wanted, store);
    status = kept.status();
    if (kept.ok()) {
      memories.AddAll(std::move(kept->lessons));
    }
  });
  RETURN_IF_ERROR(status);
  fmt::print("{} entries: one more lesson of {} tokens takes {:.1f} ms, a start takes {:.2f} s\n",
             memories.status().entries, runs.front()->tokens().size(), 1e3 * Median(more), start);
  std::filesystem::remove_all(path);
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const inference::ModelPackage package,
                   inference::LoadModelPackage(arguments.model));
  const std::optional<TokenId> mask = package.model->tokenizer().mask_id();
  if (package.memory == nullptr || !mask) {
    return absl::InvalidArgumentError(
        fmt::format("{} needs a mask token and NAME.memory.gguf beside it (ruvd model memory)",
                    arguments.model));
  }
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(
      const auto transformer,
      inference::DefaultBackend().Load(
          package.model, {.precision = inference::Precision::kFast, .runner = runner}));
  ASSIGN_OR_RETURN(const std::vector<TokenId> tokens,
                   ReadTokens(arguments, package.model->tokenizer()));
  const Setting setting{.parameters = *package.memory,
                        .transformer = *transformer,
                        .mask = *mask,
                        .end = std::span(tokens).last(arguments.window),
                        .turns = arguments.turns};
  ASSIGN_OR_RETURN(const Runs runs,
                   ObserveRuns(*transformer, *package.memory,
                               std::span(tokens).first(std::ranges::max(arguments.tokens))));
  fmt::print("| entries | bytes each | positions | forward, ms | reading, ms | forwards |\n");
  for (const size_t size : arguments.tokens) {
    const auto memory = std::make_shared<inference::TokenMemory>(
        std::span(runs).first(std::min(runs.size(), size / kLesson + 1)));
    inference::MemoryReader reader(package.memory, memory, runner);
    for (const size_t count : {64, 16, 1}) {
      RETURN_IF_ERROR(TimeStep(setting, count, reader));
    }
    RETURN_IF_ERROR(TimeDecode(setting, reader));
  }
  if (!arguments.folder.empty()) {
    RETURN_IF_ERROR(TimeStart(setting, arguments, runs, package.memory));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  app.add_option("--model", arguments.model, "GGUF file with its memory beside it")->required();
  app.add_option("--text", arguments.text, "documents, as of ruvd learn add")->required();
  app.add_option("--tokens", arguments.tokens, "sizes of the memory")->delimiter(',');
  app.add_option("--window", arguments.window, "tokens of the forward")
      ->check(CLI::Range(128, 4096));
  app.add_option("--threads", arguments.threads, "of forward and reader")->check(CLI::Range(1, 64));
  app.add_option("--folder", arguments.folder, "for a temporary store");
  app.add_option("--turns", arguments.turns)->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = ruvd::bench::Run(arguments);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
    return 1;
  }
  return 0;
}
