// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/campaign/pattern_rounds.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "storage/patterns/pattern_check.h"
#include "storage/patterns/pattern_store.h"
#include "tests/campaign/child_process.h"
#include "tests/campaign/power_cut_files.h"
#include "tests/campaign/workload.h"

namespace ruvd::campaign {
namespace {

constexpr uint32_t kIds = 120;
constexpr uint32_t kDimension = 16;
constexpr uint64_t kChangesOfAPowerRound = 400;
constexpr size_t kMaxPayload = 6000;  // the larger ones are in blob files

Random RandomOf(uint64_t seed, uint64_t n) {
  return Random(seed * 1'000'003 + n * 104'729);
}

storage::Pattern PatternOf(uint64_t seed, uint64_t n, uint32_t id) {
  Random random = RandomOf(seed, n);
  storage::Pattern pattern{.bank = id % 2, .task = "task", .quality = 0.5F, .examples = 1};
  pattern.id[0] = static_cast<uint8_t>(id);
  pattern.created_ms = static_cast<int64_t>(n);
  for (uint32_t i = 0; i < kDimension; ++i) {
    pattern.embedding.push_back(static_cast<float>(random.Normal()));
  }
  pattern.payload.resize(random.Below(kMaxPayload));
  std::generate(pattern.payload.begin(), pattern.payload.end(),
                [&] { return static_cast<char>(random.Next()); });
  return pattern;
}

// The patterns that exist after a number of changes, by the change that put them.
class PatternModel {
 public:
  explicit PatternModel(uint64_t seed) : seed_(seed) {}

  struct Step {
    uint32_t id = 0;
    bool remove = false;
  };
  // Returns change n + 1, after n changes were applied.
  Step Next() const {
    Random random = RandomOf(~seed_, n_ + 1);
    Step step{.id = static_cast<uint32_t>(random.Below(kIds))};
    step.remove = random.Bernoulli(0.35) && rows_.contains(step.id);
    return step;
  }
  void Apply(const Step& step) {
    ++n_;
    if (step.remove) {
      rows_.erase(step.id);
    } else {
      rows_[step.id] = n_;
    }
  }
  void AdvanceTo(uint64_t n) {
    while (n_ < n) {
      Apply(Next());
    }
  }
  uint64_t n() const { return n_; }
  uint64_t seed() const { return seed_; }
  const std::map<uint32_t, uint64_t>& rows() const { return rows_; }

 private:
  uint64_t seed_;
  uint64_t n_ = 0;
  std::map<uint32_t, uint64_t> rows_;
};

absl::StatusOr<std::unique_ptr<storage::PatternStore>> OpenPatterns(
    storage::Database& database, storage::Durability durability) {
  return storage::PatternStore::Open(database, {.dimension = kDimension,
                                                .model_hash = Sha256("campaign"),
                                                .m = 4,
                                                .ef_construction = 16,
                                                .durability = durability});
}

// Links, repairs and saves the graph beside the writer.
class Tending {
 public:
  Tending(storage::PatternStore& store, const storage::Database& database)
      : thread_([this, &store, &database] {
          while (!stop_.load() && database.failure().ok()) {
            if (!store.Maintain(Duration(0)).status.ok() || !store.Checkpoint().ok()) {
              return;  // the power is off
            }
            std::this_thread::yield();
          }
        }) {}
  ~Tending() {
    stop_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Continues from what the store holds until an error, until `changes` are made, or until
// `acknowledge` refuses.
absl::Status WritePatterns(storage::PatternStore& store, uint64_t seed, uint64_t changes,
                           const std::function<bool(uint64_t n)>& acknowledge) {
  PatternModel model(seed);
  model.AdvanceTo(store.Stats().last_sequence);
  for (uint64_t i = 0; i < changes; ++i) {
    const PatternModel::Step step = model.Next();
    const storage::Pattern pattern = PatternOf(seed, model.n() + 1, step.id);
    RETURN_IF_ERROR(step.remove ? store.Delete(pattern.id) : store.Put(pattern));
    model.Apply(step);
    if (!acknowledge(model.n())) {
      break;
    }
  }
  return absl::OkStatus();
}

void Complain(Outcome* outcome, const std::string& text) {
  ++outcome->wrong;
  outcome->note = outcome->note.empty() ? text : outcome->note;
}

// Every pattern of the model is there with its bytes and is found by its embedding.
absl::Status CheckPatterns(const storage::PatternStore& store, const PatternModel& model,
                           Outcome* outcome) {
  if (store.size() != model.rows().size()) {
    Complain(outcome, "another number of patterns than changes make");
  }
  for (const auto& [id, n] : model.rows()) {
    const storage::Pattern expected = PatternOf(model.seed(), n, id);
    const absl::StatusOr<storage::Pattern> pattern = store.Get(expected.id);
    if (!pattern.ok()) {
      Complain(outcome, "pattern: " + MessageOf(pattern.status()));
      continue;
    }
    if (pattern->embedding != expected.embedding || pattern->payload != expected.payload ||
        pattern->created_ms != expected.created_ms) {
      Complain(outcome, "a pattern has another content");
    }
    ASSIGN_OR_RETURN(const std::vector<storage::PatternHit> hits,
                     store.Search(expected.embedding, {.k = 1}));
    if (hits.empty() || hits.front().pattern.id != expected.id) {
      Complain(outcome, "a pattern is not found");
    }
  }
  return absl::OkStatus();
}

Outcome VerifyPatternStore(const Task& task, uint64_t floor) {
  Random random(task.round);
  auto database = OpenStore(task, random);
  if (!database.ok()) {
    return Failed(database.status(), "reopening");
  }
  storage::StoreReport report;
  const auto checks = storage::VerifyPatterns(**database, {.sample = 0}, &report);
  auto store = OpenPatterns(**database, storage::Durability::kProcessCrash);
  if (!checks.ok() || !store.ok()) {
    return Failed(checks.ok() ? store.status() : checks.status(), "reopening patterns");
  }
  PatternModel model(task.seed);
  model.AdvanceTo((*store)->Stats().last_sequence);
  Outcome outcome{.counts = std::vector<uint64_t>(kWriters, 0)};
  outcome.counts.front() = model.n();
  outcome.lost = floor - std::min(floor, model.n());
  if (!report.ok()) {
    Complain(&outcome, report.problems.front());
  }
  if (!(*store)->Stats().checkpoint.problem.empty()) {
    Complain(&outcome, (*store)->Stats().checkpoint.problem);
  }
  const absl::Status checked = CheckPatterns(**store, model, &outcome);
  return checked.ok() ? outcome : Failed(checked, "searching");
}

}  // namespace

int RunPatternWrite(const Task& task) {
  Random random(task.round);
  auto database = OpenStore(task, random);
  if (!database.ok()) {
    return Finish(Failed(database.status(), "opening"));
  }
  auto store = OpenPatterns(**database, storage::Durability::kProcessCrash);
  if (!store.ok()) {
    return Finish(Failed(store.status(), "opening patterns"));
  }
  const Tending tending(**store, **database);
  const absl::Status written = WritePatterns(**store, task.seed, UINT64_MAX, [](uint64_t n) {
    return PutLine("a 0 " + std::to_string(n));
  });
  return Finish(Failed(written, "writing"));
}

int RunPatternVerify(const Task& task) {
  return Finish(VerifyPatternStore(task, task.floor.empty() ? 0 : task.floor.front()));
}

int RunPatternPowerCut(const Task& task) {
  Random random(task.round);
  const uint64_t operations = 1 + random.Below(random.Bernoulli(0.3) ? 60 : 6000);
  auto disk =
      std::make_shared<PowerCutFiles>(task.folder + "/store", task.folder + "/trash", operations);
  uint64_t synced = task.floor.empty() ? 0 : task.floor.front();
  uint64_t acknowledged = 0;
  {
    auto database = OpenStore(task, random, disk);
    if (!database.ok() && !disk->dead()) {
      return Finish(Failed(database.status(), "opening"));
    }
    if (database.ok()) {
      auto store = OpenPatterns(**database, storage::Durability::kPowerLoss);
      if (store.ok()) {
        const Tending tending(**store, **database);
        (void)WritePatterns(**store, task.seed, kChangesOfAPowerRound, [&](uint64_t n) {
          if (disk->dead()) {
            return false;
          }
          synced = n;
          ++acknowledged;
          return true;
        });
      } else if (!disk->dead()) {
        return Finish(Failed(store.status(), "opening patterns"));
      }
      disk->Cut();
    }
  }
  disk->Apply(random);
  Outcome outcome = VerifyPatternStore(task, synced);
  outcome.acknowledged = acknowledged;
  return Finish(outcome);
}

}  // namespace ruvd::campaign
