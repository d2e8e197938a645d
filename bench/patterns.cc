// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The pattern store at its full size: what a put, a link, a checkpoint and a search cost, and how
// long a start takes until it serves, with the checkpoint of the graph and without. Prints one JSON
// line per step.
//
//   build/release/bench/patterns --rows 100000 --dimension 768

#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/ann_data.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::bench {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

struct Settings {
  size_t rows = 100'000;
  size_t dimension = 768;
  size_t payload = 4096;
  std::string folder;
};

void Require(const absl::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", MessageOf(status).c_str());
    std::exit(1);
  }
}

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// Returns the CPU time of all threads of the process.
double CpuSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The time of each call of `work`, sorted, in microseconds.
std::vector<double> Timed(size_t count, const std::function<void(size_t)>& work) {
  std::vector<double> micros;
  for (size_t i = 0; i < count; ++i) {
    const auto start = SteadyClock::now();
    work(i);
    micros.push_back(1e6 * SecondsSince(start));
  }
  std::sort(micros.begin(), micros.end());
  return micros;
}

void Print(const char* step, const std::vector<double>& micros) {
  const auto at = [&](double q) {
    return micros[static_cast<size_t>(q * static_cast<double>(micros.size() - 1))];
  };
  std::printf("{\"step\":\"%s\",\"count\":%zu,\"p50_us\":%.1f,\"p99_us\":%.1f}\n", step,
              micros.size(), at(0.5), at(0.99));
  std::fflush(stdout);
}

class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings),
        data_(MakeClustered(settings.rows, settings.dimension, 1000, /*seed=*/1)) {}

  void Run() {
    fs::remove_all(settings_.folder);
    Open("open_empty");
    Print("put", Timed(settings_.rows, [this](size_t i) { Require(store_->Put(MakeRow(i))); }));
    Search("search_unlinked", 50);
    Link();
    const auto start = SteadyClock::now();
    Require(store_->Checkpoint());
    std::printf("{\"step\":\"checkpoint\",\"seconds\":%.3f,\"bytes\":%llu}\n", SecondsSince(start),
                static_cast<unsigned long long>(store_->Stats().checkpoint.bytes));
    Search("search", data_.queries.rows);
    for (int i = 0; i < 3; ++i) {
      Open("open_with_checkpoint");
      Search("search_after_open", data_.queries.rows);
    }
    storage::Batch batch;
    batch.Delete(storage::ColumnFamily::kDefault,
                 storage::patterns::CheckpointKey(store_->collection()));
    Require(database_->Write(std::move(batch), storage::Durability::kProcessCrash));
    Open("open_without_checkpoint");
    Search("search_unlinked", 50);
    store_.reset();
    database_.reset();
    fs::remove_all(settings_.folder);
  }

 private:
  storage::Pattern MakeRow(size_t i) const {
    storage::Pattern pattern{.bank = 0, .task = "chat", .quality = 0.5F};
    for (size_t byte = 0; byte < sizeof(uint32_t); ++byte) {
      pattern.id[byte] = static_cast<uint8_t>(i >> (24 - 8 * byte));
    }
    const std::span<const float> row = data_.base.row(i);
    pattern.embedding.assign(row.begin(), row.end());
    pattern.payload.assign(settings_.payload, 'p');
    return pattern;
  }

  // Opens a store from nothing until it serves.
  void Open(const char* step) {
    store_.reset();
    database_.reset();
    const auto start = SteadyClock::now();
    const double cpu = CpuSeconds();
    auto database = storage::Database::Open({.path = settings_.folder, .seal_key = key_});
    Require(database.status());
    database_ = *std::move(database);
    const double database_seconds = SecondsSince(start);
    auto store = storage::PatternStore::Open(
        *database_, {.dimension = static_cast<uint32_t>(settings_.dimension),
                     .durability = storage::Durability::kProcessCrash,
                     .capacity = limits::kMaxPatterns});
    Require(store.status());
    store_ = *std::move(store);
    const storage::PatternStoreStats stats = store_->Stats();
    std::printf(
        "{\"step\":\"%s\",\"seconds\":%.3f,\"cpu_seconds\":%.3f,\"database_seconds\":%.3f,"
        "\"patterns\":%zu,"
        "\"pending\":%zu,\"restored\":%s,\"index_bytes\":%zu}\n",
        step, SecondsSince(start), CpuSeconds() - cpu, database_seconds, stats.patterns,
        stats.pending, stats.checkpoint.restored ? "true" : "false", stats.index_bytes);
    std::fflush(stdout);
  }

  void Link() {
    const auto start = SteadyClock::now();
    size_t linked = 0;
    for (bool more = true; more;) {
      const storage::PatternMaintenance done = store_->Maintain(std::chrono::seconds(1));
      Require(done.status);
      linked += done.linked;
      more = done.more;
    }
    std::printf("{\"step\":\"link\",\"seconds\":%.1f,\"linked\":%zu}\n", SecondsSince(start),
                linked);
    std::fflush(stdout);
  }

  void Search(const char* step, size_t count) {
    Print(step, Timed(count, [this](size_t i) {
            Require(store_->Search(data_.queries.row(i), {.k = 10, .ef = 24}).status());
          }));
  }

  const Settings settings_;
  const DataSet data_;
  const privacy::SealKey key_ = privacy::SealKey::Generate();
  std::unique_ptr<storage::Database> database_;
  std::unique_ptr<storage::PatternStore> store_;
};

int Main(int argc, char** argv) {
  CLI::App app("The pattern store at its full size.");
  Settings settings;
  settings.folder =
      (fs::temp_directory_path() / ("patterns_" + std::to_string(::getpid()))).string();
  app.add_option("--rows", settings.rows, "Patterns")->capture_default_str();
  app.add_option("--dimension", settings.dimension, "Of the embeddings")->capture_default_str();
  app.add_option("--payload", settings.payload, "Bytes of each adapter")->capture_default_str();
  app.add_option("--folder", settings.folder, "Where the store lives; emptied")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Bench(settings).Run();
  return 0;
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  return ruvd::bench::Main(argc, argv);
}
