// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a write of the store costs: one batch of the rows of a pattern (embedding, metadata, slot,
// log), sealed, acknowledged with and without fsync, from one and from many threads; and RocksDB
// alone with the same rows in clear, as what sealing and the high-water mark are compared with.
// Prints one JSON line per run.
//
//   build/release/bench/store --seconds 3 --dimension 768

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "storage/db/database.h"
#include "storage/db/row_key.h"

namespace ruvd {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

struct Settings {
  double seconds = 3;
  uint32_t dimension = 768;
  std::string folder;
};

struct Rows {
  std::string vector;
  std::string meta = std::string(96, 'm');
  std::string slot = std::string(32, 's');
  std::string log = std::string(40, 'l');
};

// Makes write number `n`; returns false where it failed.
using WriteOne = std::function<bool(uint64_t n, bool synced)>;

struct Result {
  std::vector<double> micros;
  double seconds = 0;
};

Result Run(const WriteOne& write, int threads, bool synced, double seconds) {
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  Result result;
  const auto start = SteadyClock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      std::vector<double> mine;
      for (auto before = SteadyClock::now(); before < end;) {
        if (!write(next.fetch_add(1), synced)) {
          break;
        }
        const auto after = SteadyClock::now();
        mine.push_back(std::chrono::duration<double, std::micro>(after - before).count());
        before = after;
      }
      const std::lock_guard lock(mutex);
      result.micros.insert(result.micros.end(), mine.begin(), mine.end());
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  result.seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
  std::sort(result.micros.begin(), result.micros.end());
  return result;
}

double Quantile(const std::vector<double>& sorted, double q) {
  return sorted.empty() ? 0
                        : sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))];
}

void Print(const char* engine, int threads, bool synced, const Result& result) {
  std::printf(
      "{\"engine\":\"%s\",\"durability\":\"%s\",\"threads\":%d,\"writes\":%zu,"
      "\"per_second\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n",
      engine, synced ? "power_loss" : "process_crash", threads, result.micros.size(),
      static_cast<double>(result.micros.size()) / result.seconds, Quantile(result.micros, 0.5),
      Quantile(result.micros, 0.99));
  std::fflush(stdout);
}

Rows MakeRows(uint32_t dimension) {
  Rows rows;
  Random random(1);
  for (uint32_t i = 0; i < 4 * dimension; ++i) {
    rows.vector.push_back(static_cast<char>(random.Next()));
  }
  return rows;
}

WriteOne StoreWriter(storage::Database& database, const Rows& rows) {
  return [&database, &rows](uint64_t n, bool synced) {
    const std::string key = storage::RowKey().U32(0).U32(static_cast<uint32_t>(n)).Take();
    storage::Batch batch;
    batch.Put(storage::ColumnFamily::kVec, key, rows.vector);
    batch.Put(storage::ColumnFamily::kMeta, key, rows.meta);
    batch.Put(storage::ColumnFamily::kSlot, key, rows.slot);
    batch.Put(storage::ColumnFamily::kOplog, storage::RowKey().U64(n).Take(), rows.log);
    return database
        .Write(std::move(batch),
               synced ? storage::Durability::kPowerLoss : storage::Durability::kProcessCrash)
        .ok();
  };
}

WriteOne RocksWriter(rocksdb::DB& database,
                     const std::vector<rocksdb::ColumnFamilyHandle*>& families, const Rows& rows) {
  return [&database, &families, &rows](uint64_t n, bool synced) {
    const std::string key = storage::RowKey().U32(0).U32(static_cast<uint32_t>(n)).Take();
    rocksdb::WriteBatch batch;
    const bool built = batch.Put(families[1], key, rows.vector).ok() &&
                       batch.Put(families[2], key, rows.meta).ok() &&
                       batch.Put(families[3], key, rows.slot).ok() &&
                       batch.Put(families[4], storage::RowKey().U64(n).Take(), rows.log).ok();
    rocksdb::WriteOptions options;
    options.sync = synced;
    return built && database.Write(options, &batch).ok();
  };
}

void RunAll(const char* engine, const Settings& settings,
            const std::function<void(const std::function<void(const WriteOne&)>&)>& with_store) {
  for (const bool synced : {false, true}) {
    for (const int threads : {1, 4, 16}) {
      with_store([&](const WriteOne& write) {
        Run(write, threads, synced, settings.seconds / 10);  // data keys, first log
        Print(engine, threads, synced, Run(write, threads, synced, settings.seconds));
      });
    }
  }
}

int Main(int argc, char** argv) {
  CLI::App app("Cost of writes to the store.");
  Settings settings;
  settings.folder = (fs::temp_directory_path() / ("store_" + std::to_string(::getpid()))).string();
  app.add_option("--seconds", settings.seconds, "Of each run")->capture_default_str();
  app.add_option("--dimension", settings.dimension, "Of the embeddings")->capture_default_str();
  app.add_option("--folder", settings.folder, "Where the stores live; emptied")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Rows rows = MakeRows(settings.dimension);
  RunAll("store", settings, [&](const auto& body) {
    fs::remove_all(settings.folder);
    auto database = storage::Database::Open(
        {.path = settings.folder, .seal_key = privacy::SealKey::Generate()});
    if (!database.ok()) {
      std::fprintf(stderr, "%s\n", MessageOf(database.status()).c_str());
      std::exit(1);
    }
    body(StoreWriter(**database, rows));
  });
  RunAll("rocksdb", settings, [&](const auto& body) {
    fs::remove_all(settings.folder);
    rocksdb::Options options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.compression = rocksdb::kNoCompression;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const char* name : {"default", "vec", "meta", "slot", "oplog"}) {
      families.emplace_back(name, options);
    }
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* raw = nullptr;
    if (!rocksdb::DB::Open(options, settings.folder, families, &handles, &raw).ok()) {
      std::exit(1);
    }
    const std::unique_ptr<rocksdb::DB> database(raw);
    body(RocksWriter(*database, handles, rows));
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      database->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
  });
  fs::remove_all(settings.folder);
  return 0;
}

}  // namespace
}  // namespace ruvd

int main(int argc, char** argv) {
  return ruvd::Main(argc, argv);
}
