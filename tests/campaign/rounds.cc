// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/campaign/rounds.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "tests/campaign/child_process.h"
#include "tests/campaign/full_disk_files.h"
#include "tests/campaign/pattern_rounds.h"
#include "tests/campaign/power_cut_files.h"
#include "tests/campaign/workload.h"

namespace ruvd::campaign {
absl::StatusOr<std::unique_ptr<storage::Database>> OpenStore(
    const Task& task, Random& random, std::shared_ptr<rocksdb::FileSystem> files,
    size_t memtable_bytes) {
  ASSIGN_OR_RETURN(privacy::SealKey key, privacy::SealKey::LoadOrCreate(task.folder + "/seal.key"));
  storage::DatabaseOptions options{.path = task.folder + "/store", .seal_key = std::move(key)};
  options.soft_reserve_bytes = 0;
  options.hard_reserve_bytes = 0;
  const size_t drawn = size_t{64} << (10 + random.Below(5));
  options.memtable_bytes = memtable_bytes > 0 ? memtable_bytes : drawn;
  options.file_system = std::move(files);
  return storage::Database::Open(std::move(options));
}

int Finish(const Outcome& outcome) {
  PutLine(FormatOutcome(outcome));
  return 0;
}

Outcome Failed(const absl::Status& status, std::string_view during) {
  Outcome outcome;
  outcome.wrong = 1;
  outcome.note = std::string(during) + ": " + ReasonOf(status) + " " + MessageOf(status);
  return outcome;
}

namespace {

constexpr uint64_t kChangesOfAPowerRound = 250;  // per writer, if the power lasts
constexpr uint64_t kChangesOfAFlipStore = 300;

using Counts = std::array<std::atomic<uint64_t>, kWriters>;

// Writes changes from the store's counts on until `stop` or an error. `acknowledge` is called for
// each change that was acknowledged, and with its durability.
using Acknowledge = std::function<bool(int writer, uint64_t n, storage::Durability durability)>;
void WriteAll(storage::Database& database, const Task& task, uint64_t changes,
              const Acknowledge& acknowledge) {
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      Random random(task.round * 31 + static_cast<uint64_t>(writer));
      const auto first = CountOf(database, writer);
      if (!first.ok()) {
        return;
      }
      for (uint64_t n = *first + 1; n <= *first + changes; ++n) {
        const storage::Durability durability = random.Bernoulli(0.5)
                                                   ? storage::Durability::kPowerLoss
                                                   : storage::Durability::kProcessCrash;
        if (!database.Write(BatchOf(task.seed, writer, n), durability).ok() ||
            !acknowledge(writer, n, durability)) {
          return;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// Runs beside the writers: flushes, new data keys, compaction.
class Maintenance {
 public:
  Maintenance(storage::Database& database, uint64_t seed)
      : thread_([this, &database, random = Random(seed)]() mutable { Run(database, random); }) {}
  ~Maintenance() {
    stop_.store(true);
    thread_.join();
  }

 private:
  void Run(storage::Database& database, Random& random) {
    while (!stop_.load() && database.failure().ok()) {
      absl::Status status;
      switch (random.Below(6)) {
        case 0:
          status = database.RotateDataKeys("");
          break;
        case 1:
          status = database.Compact();
          break;
        case 2:
          status = database.Flush();
          break;
        default:
          status = database.ResealStep().status();
      }
      if (!status.ok()) {
        return;  // the power is off or the disk is full
      }
      std::this_thread::yield();
    }
  }

  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Opens the store as it is now and compares it with what must be there.
Outcome VerifyStore(const Task& task, std::span<const uint64_t> floor) {
  Random random(task.round);
  auto database = OpenStore(task, random);
  if (!database.ok()) {
    return Failed(database.status(), "reopening");
  }
  const auto verdict = Check(**database, task.seed);
  if (!verdict.ok()) {
    return Failed(verdict.status(), "reading");
  }
  Outcome outcome{.counts = verdict->counts, .wrong = verdict->wrong, .note = verdict->example};
  for (size_t writer = 0; writer < floor.size(); ++writer) {
    outcome.lost += floor[writer] - std::min(floor[writer], verdict->counts[writer]);
  }
  // Nothing was damaged, so reporting a loss is a false alarm.
  outcome.reported = (*database)->recovery().loss();
  if (outcome.reported) {
    ++outcome.wrong;
    outcome.note = "reports a loss that was none";
  }
  return outcome;
}

// Writes until it is killed.
int RunWrite(const Task& task) {
  Random random(task.round);
  auto database = OpenStore(task, random);
  if (!database.ok()) {
    return Finish(Failed(database.status(), "opening"));
  }
  const Maintenance maintenance(**database, task.round);
  WriteAll(**database, task, UINT64_MAX / 2, [](int writer, uint64_t n, storage::Durability) {
    return PutLine("a " + std::to_string(writer) + " " + std::to_string(n));
  });
  return Finish(Failed((*database)->failure(), "writing"));
}

std::vector<uint64_t> Higher(const std::vector<uint64_t>& floor, const Counts& acknowledged) {
  std::vector<uint64_t> counts(kWriters, 0);
  for (size_t writer = 0; writer < counts.size(); ++writer) {
    counts[writer] =
        std::max(writer < floor.size() ? floor[writer] : 0, acknowledged[writer].load());
  }
  return counts;
}

int RunPowerCut(const Task& task) {
  Random random(task.round);
  // Early cuts hit the opening, late ones flushes and compactions.
  const uint64_t operations = 1 + random.Below(random.Bernoulli(0.3) ? 60 : 6000);
  auto disk =
      std::make_shared<PowerCutFiles>(task.folder + "/store", task.folder + "/trash", operations);
  Counts synced{};
  std::atomic<uint64_t> acknowledged{0};
  {
    auto database = OpenStore(task, random, disk);
    if (!database.ok() && !disk->dead()) {
      return Finish(Failed(database.status(), "opening"));
    }
    if (database.ok()) {
      const Maintenance maintenance(**database, task.round);
      WriteAll(**database, task, kChangesOfAPowerRound,
               [&](int writer, uint64_t n, storage::Durability durability) {
                 if (disk->dead()) {
                   return false;
                 }
                 if (durability == storage::Durability::kPowerLoss) {
                   synced[static_cast<size_t>(writer)].store(n);
                   acknowledged.fetch_add(1);
                 }
                 return true;
               });
      disk->Cut();
    }
  }
  disk->Apply(random);
  Outcome outcome = VerifyStore(task, Higher(task.floor, synced));
  outcome.acknowledged = acknowledged.load();
  return Finish(outcome);
}

int RunFullDisk(const Task& task) {
  Random random(task.round);
  auto disk =
      std::make_shared<FullDiskFiles>(1 + random.Below(random.Bernoulli(0.3) ? 40'000 : 4'000'000));
  Counts written{};
  std::atomic<uint64_t> acknowledged{0};
  Outcome outcome;
  {
    auto database = OpenStore(task, random, disk);
    if (!database.ok() && disk->refused() == 0) {
      return Finish(Failed(database.status(), "opening"));
    }
    if (database.ok()) {
      {
        const Maintenance maintenance(**database, task.round);
        WriteAll(**database, task, UINT64_MAX / 2,
                 [&](int writer, uint64_t n, storage::Durability) {
                   written[static_cast<size_t>(writer)].store(n);
                   acknowledged.fetch_add(1);
                   return true;
                 });
      }
      // Reads continue and writes do not, whether there is space again or not.
      const auto verdict = Check(**database, task.seed);
      outcome.wrong += verdict.ok() ? verdict->wrong : 1;
      outcome.note = verdict.ok() ? verdict->example : MessageOf(verdict.status());
      if (random.Bernoulli(0.5)) {
        disk->Free();
      }
      storage::Batch batch;
      batch.Put(storage::ColumnFamily::kConsent, "late", "x");
      if ((*database)->Write(std::move(batch), storage::Durability::kPowerLoss).ok()) {
        ++outcome.wrong;
        outcome.note = "a write went through after the disk had been full";
      }
    }
    disk->Free();
  }
  Outcome reopened = VerifyStore(task, Higher(task.floor, written));
  reopened.acknowledged = acknowledged.load();
  reopened.wrong += outcome.wrong;
  if (!outcome.note.empty()) {
    reopened.note = outcome.note;
  }
  return Finish(reopened);
}

// Makes a store to damage: closed properly, with some of it in tables and some in the log; every
// second one is in the log alone, as after a first run.
int RunMake(const Task& task) {
  Random random(task.round);
  const bool log_only = task.round % 2 == 1;
  auto database = OpenStore(task, random, nullptr, log_only ? limits::kMemtableBytes : 0);
  if (!database.ok()) {
    return Finish(Failed(database.status(), "opening"));
  }
  const auto accept = [](int, uint64_t, storage::Durability) { return true; };
  WriteAll(**database, task, kChangesOfAFlipStore, accept);
  if (const absl::Status status = log_only ? absl::OkStatus() : (*database)->Compact();
      !status.ok()) {
    return Finish(Failed(status, "compacting"));
  }
  WriteAll(**database, task, kChangesOfAFlipStore / 2, accept);
  const auto verdict = Check(**database, task.seed);
  return Finish(verdict.ok() ? Outcome{.counts = verdict->counts, .wrong = verdict->wrong}
                             : Failed(verdict.status(), "reading"));
}

int RunRead(const Task& task) {
  Random random(task.round);
  auto database = OpenStore(task, random);
  Outcome outcome;
  if (!database.ok()) {
    outcome.errors = 1;
    outcome.note = ReasonOf(database.status());
    return Finish(outcome);
  }
  outcome.reported = (*database)->recovery().loss();
  const Verdict verdict = CheckReads(**database, task.seed, task.floor, outcome.reported);
  outcome.counts = verdict.counts;
  outcome.errors = verdict.errors;
  outcome.wrong = verdict.wrong;
  outcome.note = verdict.example;
  // Damage may make writing and compacting fail, but must not end the process.
  storage::Batch batch;
  batch.Put(storage::ColumnFamily::kConsent, "after", "x");
  (void)(*database)->Write(std::move(batch), storage::Durability::kPowerLoss);
  (void)(*database)->Compact();
  (void)(*database)->Close();
  return Finish(outcome);
}

std::string Join(const std::vector<uint64_t>& numbers) {
  std::string text;
  for (const uint64_t number : numbers) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text.empty() ? "-" : text;
}

std::vector<uint64_t> Split(const std::string& text) {
  std::vector<uint64_t> numbers;
  std::istringstream in(text == "-" ? "" : text);
  for (std::string item; std::getline(in, item, ',');) {
    numbers.push_back(std::stoull(item));
  }
  return numbers;
}

}  // namespace

std::vector<std::string> ArgumentsOf(const Task& task) {
  return {"task",
          task.kind,
          task.folder,
          std::to_string(task.seed),
          std::to_string(task.round),
          Join(task.floor)};
}

bool ParseTask(const std::vector<std::string>& arguments, Task* task) {
  if (arguments.size() != 6 || arguments[0] != "task") {
    return false;
  }
  *task = {.kind = arguments[1],
           .folder = arguments[2],
           .seed = std::stoull(arguments[3]),
           .round = std::stoull(arguments[4]),
           .floor = Split(arguments[5])};
  return true;
}

std::string FormatOutcome(const Outcome& outcome) {
  std::ostringstream out;
  out << "outcome " << Join(outcome.counts) << ' ' << outcome.acknowledged << ' ' << outcome.lost
      << ' ' << outcome.wrong << ' ' << outcome.errors << ' ' << outcome.reported << ' '
      << outcome.note.substr(0, 400);
  return out.str();
}

bool ParseOutcome(const std::string& line, Outcome* outcome) {
  std::istringstream in(line);
  std::string word;
  std::string counts;
  in >> word >> counts >> outcome->acknowledged >> outcome->lost >> outcome->wrong >>
      outcome->errors >> outcome->reported;
  if (!in || word != "outcome") {
    return false;
  }
  outcome->counts = Split(counts);
  std::getline(in >> std::ws, outcome->note);
  return true;
}

int RunTask(const Task& task) {
  if (task.kind == "write") {
    return RunWrite(task);
  }
  if (task.kind == "verify") {
    return Finish(VerifyStore(task, task.floor));
  }
  if (task.kind == "power") {
    return RunPowerCut(task);
  }
  if (task.kind == "full") {
    return RunFullDisk(task);
  }
  if (task.kind == "pattern-write") {
    return RunPatternWrite(task);
  }
  if (task.kind == "pattern-verify") {
    return RunPatternVerify(task);
  }
  if (task.kind == "pattern-power") {
    return RunPatternPowerCut(task);
  }
  return task.kind == "make" ? RunMake(task) : RunRead(task);
}

}  // namespace ruvd::campaign
