// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/ann_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/random.h"
#include "base/status.h"

namespace ruvd::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The times of one thread's searches, microseconds.
std::vector<double> SearchUntil(const std::atomic<bool>& done, const Matrix& queries,
                                const storage::HnswIndex& index, const LoadOptions& options,
                                size_t first) {
  std::vector<double> times;
  for (size_t i = first; !done; ++i) {
    const Clock::time_point start = Clock::now();
    const auto hits =
        index.Search({.vector = queries.row(i % queries.rows), .k = options.k, .ef = options.ef});
    times.push_back(1e6 * SecondsSince(start));
    RUVD_CHECK(hits.ok());
  }
  return times;
}

// Replaces rows for the time of the options; returns how many.
size_t PutAtRate(RuvdIndex& index, size_t rows, const LoadOptions& options, Random* random) {
  constexpr size_t kRepairs = 64;
  static uint32_t generation = 1;  // higher with each row
  const Clock::time_point start = Clock::now();
  size_t puts = 0;
  for (double now = 0; now < options.seconds; now = SecondsSince(start)) {
    if (static_cast<double>(puts) < now * options.puts_per_s) {
      index.Put(static_cast<uint32_t>(random->Below(rows)), ++generation);
      ++puts;
    } else {
      index.index().LinkBatch(1);
      index.index().RepairBatch(kRepairs);
    }
  }
  return puts;
}

}  // namespace

void MeasureLoad(const Matrix& queries, RuvdIndex& index, size_t rows, const LoadOptions& options) {
  Random random(1);
  for (const double rate : {0.0, options.puts_per_s}) {
    std::atomic<bool> done = false;
    std::vector<std::vector<double>> times(options.searchers);
    std::vector<std::thread> searchers;
    for (size_t t = 0; t < options.searchers; ++t) {
      searchers.emplace_back([&, t] {
        times[t] = SearchUntil(done, queries, index.index(), options, t * queries.rows / 7);
      });
    }
    size_t puts = 0;
    if (rate > 0) {
      puts = PutAtRate(index, rows, options, &random);
    } else {
      std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
    }
    done = true;
    std::vector<double> all;
    for (size_t t = 0; t < options.searchers; ++t) {
      searchers[t].join();
      all.insert(all.end(), times[t].begin(), times[t].end());
    }
    std::sort(all.begin(), all.end());
    fmt::print(
        "{{\"engine\": \"ruvd\", \"searchers\": {}, \"puts_per_s\": {:.0f}, \"ef\": {}, "
        "\"searches_per_s\": {:.0f}, \"p50_us\": {:.1f}, \"p99_us\": {:.1f}, \"pending\": {}}}\n",
        options.searchers, static_cast<double>(puts) / options.seconds, options.ef,
        static_cast<double>(all.size()) / options.seconds, all[all.size() / 2],
        all[all.size() * 99 / 100], index.index().Counts().pending);
  }
}

}  // namespace ruvd::bench
