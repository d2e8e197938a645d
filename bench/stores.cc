// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Measures what the stores add to a request: policy retrieval, session recovery, witness append.
// Prints one JSON line for each measurement, with wall and CPU times of the calling thread in
// microseconds. On a loaded machine the wall times tell of the scheduler, the CPU times of the
// stores.

#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "storage/policies/policy_store.h"
#include "storage/sessions/session_index.h"
#include "storage/witness/witness_log.h"

namespace ruvd {
namespace {

struct Flags {
  std::string folder;
  uint32_t dimension = 768;
  size_t sessions = 1000;
  size_t policies = 1000;
  size_t repetitions = 20'000;
  size_t witness = 10'000;
};

// CPU time of this thread in microseconds.
double CpuMicros() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// Times of single calls.
class Times {
 public:
  void Call(const std::function<void()>& call) {
    const TimePoint begun = SystemClock().Now();
    const double cpu_begun = CpuMicros();
    call();
    cpu_.push_back(CpuMicros() - cpu_begun);
    wall_.push_back(std::chrono::duration<double, std::micro>(SystemClock().Now() - begun).count());
  }
  // `target_us` is the target for the 99th percentile; 0 means that there is no target.
  void Print(std::string_view name, size_t rows, double target_us) {
    std::sort(wall_.begin(), wall_.end());
    std::sort(cpu_.begin(), cpu_.end());
    const auto at = [](const std::vector<double>& sorted, double share) {
      return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
    };
    fmt::print(
        "{{\"what\":\"{}\",\"rows\":{},\"calls\":{},\"p50_us\":{:.2f},\"p99_us\":{:.2f},"
        "\"cpu_p50_us\":{:.2f},\"cpu_p99_us\":{:.2f},\"target_p99_us\":{}}}\n",
        name, rows, wall_.size(), at(wall_, 0.5), at(wall_, 0.99), at(cpu_, 0.5), at(cpu_, 0.99),
        target_us);
  }

 private:
  std::vector<double> wall_;
  std::vector<double> cpu_;
};

Times Measure(size_t repetitions, const std::function<void(size_t)>& call) {
  Times times;
  for (size_t i = 0; i < repetitions; ++i) {
    times.Call([&] { call(i); });
  }
  return times;
}

std::vector<float> RandomVector(uint32_t dimension, Random* random) {
  std::vector<float> vector(dimension);
  for (float& value : vector) {
    value = static_cast<float>(random->Normal());
  }
  return vector;
}

storage::PolicyId IdOf(size_t number) {
  storage::PolicyId id{};
  std::memcpy(id.data(), &number, sizeof(number));
  return id;
}

absl::Status MeasurePolicies(const Flags& flags, storage::Database& database, Random* random) {
  ASSIGN_OR_RETURN(const auto store,
                   storage::PolicyStore::Open(database, {.dimension = flags.dimension}));
  for (size_t i = 0; i < flags.policies; ++i) {
    storage::Policy policy{.id = IdOf(i),
                           .parameters = storage::QuantizationPolicy{.precision = "q8"},
                           .embedding = RandomVector(flags.dimension, random),
                           .confidence = 0.5F};
    RETURN_IF_ERROR(store->Put(std::move(policy)));
  }
  std::vector<std::vector<float>> queries;
  for (int i = 0; i < 256; ++i) {
    queries.push_back(RandomVector(flags.dimension, random));
  }
  absl::Status status;
  const auto search = [&](size_t i) {
    const auto hits =
        store->Search(storage::PolicyKind::kQuantization, queries[i % queries.size()], /*k=*/10);
    if (!hits.ok()) {
      status = hits.status();
    }
  };
  Measure(flags.repetitions / 10, search).Print("policy_search_k10", flags.policies, 2000);
  Measure(flags.repetitions, [&](size_t) {
    if (const auto policy = store->Get(IdOf(1)); !policy.ok()) {
      status = policy.status();
    }
  }).Print("policy_get_cached", flags.policies, 2000);
  return status;
}

absl::Status MeasureSessions(const Flags& flags, storage::Database& database, Random* random) {
  ASSIGN_OR_RETURN(const auto index,
                   storage::SessionIndex::Open(database, {.dimension = flags.dimension}));
  const auto name = [](size_t number) { return fmt::format("session-{}", number); };
  for (size_t i = 0; i < flags.sessions; ++i) {
    storage::SessionState session{.session_id = name(i),
                                  .context_embedding = RandomVector(flags.dimension, random),
                                  .active_adapter = "overlay@1",
                                  .turn_count = 3};
    session.kv_cache = {.location = "pages/1", .cached_tokens = 512};
    RETURN_IF_ERROR(index->Put(std::move(session)));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < 4096; ++i) {
    names.push_back(name(random->Below(flags.sessions)));
  }
  absl::Status status;
  Measure(flags.repetitions, [&](size_t i) {
    if (const auto session = index->Get(names[i % names.size()]); !session.ok()) {
      status = session.status();
    }
  }).Print("session_recovery", flags.sessions, 100);
  Measure(flags.repetitions / 20, [&](size_t i) {
    status.Update(index->Update(names[i % names.size()], 1,
                                [](storage::SessionState* session) { ++session->turn_count; }));
  }).Print("session_turn", flags.sessions, 0);
  return status;
}

// The request has already copied the entry, so the copy is outside the time.
absl::Status MeasureWitness(const Flags& flags, storage::Database& database, Random* random) {
  ASSIGN_OR_RETURN(const auto log, storage::WitnessLog::Open(database));
  const std::vector<float> embedding = RandomVector(flags.dimension, random);
  const Clock& clock = SystemClock();
  absl::Status status;
  Times append;
  Times flush;
  for (size_t i = 0; i < flags.witness; ++i) {
    storage::WitnessEntry entry{.request_id = fmt::format("{:032x}", i),
                                .session_id = "session",
                                .query_embedding = embedding,
                                .model_used = "model",
                                .latency = {.total_ms = static_cast<float>(random->Below(1000))},
                                .timestamp_ms = static_cast<int64_t>(i)};
    append.Call([&] { status.Update(log->Append(std::move(entry), clock.Now())); });
    if (i % limits::kWitnessBatch == limits::kWitnessBatch - 1) {
      flush.Call([&] { status.Update(log->FlushDue(clock.Now()).status()); });
    }
  }
  append.Print("witness_append", flags.witness, 5);
  flush.Print("witness_flush_of_100", flags.witness, 0);
  Measure(10, [&](size_t) {
    status.Update(log->Stats({}).status());
  }).Print("witness_stats", flags.witness, 0);
  Measure(10, [&](size_t) {
    status.Update(log->Query({.similar_to = embedding, .limit = 10}).status());
  }).Print("witness_similar", flags.witness, 0);
  return status;
}

absl::Status Run(const Flags& flags) {
  std::filesystem::remove_all(flags.folder);
  std::filesystem::create_directories(flags.folder);
  ASSIGN_OR_RETURN(const auto database,
                   storage::Database::Open({.path = flags.folder + "/store",
                                            .seal_key = privacy::SealKey::Generate()}));
  Random random(1);
  RETURN_IF_ERROR(MeasurePolicies(flags, *database, &random));
  RETURN_IF_ERROR(MeasureSessions(flags, *database, &random));
  RETURN_IF_ERROR(MeasureWitness(flags, *database, &random));
  RETURN_IF_ERROR(database->Close());
  std::filesystem::remove_all(flags.folder);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruvd

int main(int argc, char** argv) {
  ruvd::Flags flags;
  flags.folder = (std::filesystem::temp_directory_path() / "ruvd_bench_stores").string();
  CLI::App app("What the stores add to a request, in JSON lines");
  app.add_option("--folder", flags.folder, "Scratch folder; emptied")->capture_default_str();
  app.add_option("--dim", flags.dimension, "Of embeddings")->capture_default_str();
  app.add_option("--sessions", flags.sessions, "Sessions in the index")->capture_default_str();
  app.add_option("--policies", flags.policies, "Policies in the store")->capture_default_str();
  app.add_option("--repetitions", flags.repetitions, "Calls measured")->capture_default_str();
  app.add_option("--witness", flags.witness, "Witness entries appended")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = ruvd::Run(flags);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
    return 1;
  }
  return 0;
}
