// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the store against kill -9, power cuts, full disks and flipped bits. Every round runs in a
// process of its own, so that an abort is counted and does not end the campaign.
//
//   crash_loop --kills 200 --power-cuts 200 --disk-full 50 --bit-flips 200 --pattern-kills 200
//              --pattern-power-cuts 200 --seed 1

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/random.h"
#include "tests/campaign/child_process.h"
#include "tests/campaign/rounds.h"
#include "tests/campaign/workload.h"

namespace ruvd::campaign {
namespace {

namespace fs = std::filesystem;

// After so many rounds a new store begins, so that checking it stays quick.
constexpr uint64_t kRoundsPerStore = 20;
constexpr uint64_t kFlipStores = 4;
constexpr uint64_t kMaxLifeMicros = 300'000;

struct Totals {
  uint64_t rounds = 0;
  uint64_t acknowledged = 0;
  uint64_t lost = 0;
  uint64_t wrong = 0;
  uint64_t aborts = 0;
  uint64_t refused = 0;   // bit flips: stores that did not open and gave the reason
  uint64_t reported = 0;  // bit flips: stores that reported a loss
  uint64_t errors = 0;    // bit flips: reads that failed
  bool Good() const { return lost == 0 && wrong == 0 && aborts == 0; }
};

class Campaign {
 public:
  Campaign(std::string program, std::string folder, uint64_t seed)
      : program_(std::move(program)), folder_(std::move(folder)), seed_(seed) {}

  bool Kills(uint64_t rounds) {
    return Rounds("kills", rounds, [this](uint64_t round) { KillRound("write", "verify", round); });
  }
  bool PatternKills(uint64_t rounds) {
    return Rounds("pattern-kills", rounds,
                  [this](uint64_t round) { KillRound("pattern-write", "pattern-verify", round); });
  }
  bool PatternPowerCuts(uint64_t rounds) {
    return Rounds("pattern-power-cuts", rounds,
                  [this](uint64_t round) { SimpleRound("pattern-power", round); });
  }
  bool PowerCuts(uint64_t rounds) {
    return Rounds("power-cuts", rounds, [this](uint64_t round) { SimpleRound("power", round); });
  }
  bool FullDisks(uint64_t rounds) {
    return Rounds("disk-full", rounds, [this](uint64_t round) { SimpleRound("full", round); });
  }
  bool BitFlips(uint64_t rounds) {
    return Rounds("bit-flips", rounds, [this](uint64_t round) { FlipRound(round); });
  }

 private:
  bool Rounds(const char* kind, uint64_t rounds, const std::function<void(uint64_t)>& round);
  Task TaskOf(const std::string& kind, uint64_t round) const {
    return {.kind = kind,
            .folder = folder_ + "/store" + std::to_string(round / kRoundsPerStore),
            .seed = seed_ + round / kRoundsPerStore,
            .round = seed_ * 1'000'000 + round,
            .floor = floor_};
  }
  // Runs a task to its end and counts what it found.
  Outcome Run(const Task& task);
  void Count(const Task& task, const Outcome& outcome);
  void Abort(const Task& task, int status);
  void KillRound(const std::string& write, const std::string& verify_kind, uint64_t round);
  void SimpleRound(const std::string& kind, uint64_t round);
  void FlipRound(uint64_t round);

  const std::string program_;
  const std::string folder_;
  const uint64_t seed_;
  Totals totals_;
  std::vector<uint64_t> floor_;  // changes that must be in the store of the round
  std::array<std::vector<uint64_t>, kFlipStores> flip_counts_;
};

bool Campaign::Rounds(const char* kind, uint64_t rounds,
                      const std::function<void(uint64_t)>& round) {
  if (rounds == 0) {
    return true;
  }
  totals_ = {};
  fs::remove_all(folder_);
  for (uint64_t i = 0; i < rounds; ++i) {
    if (i % kRoundsPerStore == 0) {
      floor_.clear();
    }
    const std::string store = TaskOf("", i).folder;
    fs::create_directories(store);
    ++totals_.rounds;
    round(i);
    if ((i + 1) % kRoundsPerStore == 0 && totals_.Good()) {
      fs::remove_all(store);
    }
  }
  std::printf("%s rounds=%llu acknowledged=%llu lost=%llu wrong=%llu aborts=%llu", kind,
              static_cast<unsigned long long>(totals_.rounds),
              static_cast<unsigned long long>(totals_.acknowledged),
              static_cast<unsigned long long>(totals_.lost),
              static_cast<unsigned long long>(totals_.wrong),
              static_cast<unsigned long long>(totals_.aborts));
  if (std::string_view(kind) == "bit-flips") {
    std::printf(" refused=%llu reported=%llu errors=%llu",
                static_cast<unsigned long long>(totals_.refused),
                static_cast<unsigned long long>(totals_.reported),
                static_cast<unsigned long long>(totals_.errors));
  }
  std::printf(" seed=%llu\n", static_cast<unsigned long long>(seed_));
  std::fflush(stdout);
  return totals_.Good();
}

void Campaign::Abort(const Task& task, int status) {
  ++totals_.aborts;
  std::fprintf(stderr, "round %llu (%s): the process ended with status %d\n",
               static_cast<unsigned long long>(task.round), task.kind.c_str(), status);
}

Outcome Campaign::Run(const Task& task) {
  std::vector<std::string> arguments = {program_};
  for (std::string& argument : ArgumentsOf(task)) {
    arguments.push_back(std::move(argument));
  }
  ChildProcess child(arguments);
  Outcome outcome;
  bool finished = false;
  for (std::string line; child.ReadLine(&line);) {
    finished = ParseOutcome(line, &outcome) || finished;
  }
  const int status = child.Wait();
  if (!finished || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    Abort(task, status);
    return {};
  }
  return outcome;
}

void Campaign::Count(const Task& task, const Outcome& outcome) {
  totals_.acknowledged += outcome.acknowledged;
  totals_.lost += outcome.lost;
  totals_.wrong += outcome.wrong;
  totals_.errors += outcome.errors;
  if (outcome.lost + outcome.wrong > 0) {
    std::fprintf(stderr, "round %llu (%s): lost %llu, wrong %llu: %s\n",
                 static_cast<unsigned long long>(task.round), task.kind.c_str(),
                 static_cast<unsigned long long>(outcome.lost),
                 static_cast<unsigned long long>(outcome.wrong), outcome.note.c_str());
  }
  if (!outcome.counts.empty()) {
    floor_ = outcome.counts;
  }
}

void Campaign::KillRound(const std::string& write, const std::string& verify_kind, uint64_t round) {
  const Task task = TaskOf(write, round);
  Random random(task.round);
  std::vector<std::string> arguments = {program_};
  for (std::string& argument : ArgumentsOf(task)) {
    arguments.push_back(std::move(argument));
  }
  std::vector<uint64_t> acknowledged(kWriters, 0);
  {
    ChildProcess child(arguments);
    std::string line;
    // Most processes are killed while they write, some while they still open the store.
    bool more = random.Bernoulli(0.2) || child.ReadLine(&line);
    std::this_thread::sleep_for(std::chrono::microseconds(random.Below(kMaxLifeMicros)));
    child.Kill();
    for (; more; more = child.ReadLine(&line)) {
      unsigned writer = 0;
      unsigned long long n = 0;
      Outcome early;
      if (std::sscanf(line.c_str(), "a %u %llu", &writer, &n) == 2 && writer < kWriters) {
        acknowledged[writer] = n;
        ++totals_.acknowledged;
      } else if (ParseOutcome(line, &early)) {
        Count(task, early);  // it ended by itself, which is an error
      }
    }
    const int status = child.Wait();
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
      Abort(task, status);
    }
  }
  Task verify = TaskOf(verify_kind, round);
  verify.floor.resize(kWriters, 0);
  for (size_t writer = 0; writer < kWriters; ++writer) {
    verify.floor[writer] = std::max(verify.floor[writer], acknowledged[writer]);
  }
  Count(verify, Run(verify));
}

void Campaign::SimpleRound(const std::string& kind, uint64_t round) {
  const Task task = TaskOf(kind, round);
  Count(task, Run(task));
}

// Returns the files whose damage the store must survive or report: all except the program's own
// lock and RocksDB's log of messages.
std::vector<std::string> FilesToDamage(const std::string& store) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(store)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && entry.file_size() > 0 && !name.starts_with("LOG") &&
        name != "LOCK" && name != "ruvd.lock") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void FlipBits(const std::string& path, Random& random) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const uint64_t size = fs::file_size(path);
  for (uint64_t flips = 1 + random.Below(3); flips > 0; --flips) {
    const auto at = static_cast<std::streamoff>(random.Below(size));
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ (1 << random.Below(8))));
  }
}

void Campaign::FlipRound(uint64_t round) {
  const uint64_t which = round % kFlipStores;
  const std::string original = folder_ + "/flip" + std::to_string(which);
  Task make{.kind = "make",
            .folder = original,
            .seed = seed_ + which,
            .round = seed_ * 1'000'000 + which,
            .floor = {}};
  if (round < kFlipStores) {
    fs::create_directories(original);
    const Outcome made = Run(make);
    Count(make, made);
    flip_counts_[which] = made.counts;
  }
  Task read = make;
  read.kind = "read";
  read.folder = folder_ + "/damaged";
  read.round = seed_ * 1'000'000 + round;
  read.floor = flip_counts_[which];
  if (read.floor.empty()) {
    return;  // it was counted as an abort or as wrong when it was made
  }
  fs::remove_all(read.folder);
  fs::copy(original, read.folder, fs::copy_options::recursive);
  Random random(read.round);
  const std::vector<std::string> files = FilesToDamage(read.folder + "/store");
  const std::string& victim = files[random.Below(files.size())];
  FlipBits(victim, random);
  const Outcome outcome = Run(read);
  totals_.refused += outcome.counts.empty() && outcome.errors > 0 ? 1 : 0;
  totals_.reported += outcome.reported ? 1 : 0;
  if (outcome.wrong > 0) {
    std::fprintf(stderr, "damaged %s\n", victim.c_str());
  }
  Count(read, outcome);
}

int Main(int argc, char** argv) {
  Task task;
  if (ParseTask(std::vector<std::string>(argv + 1, argv + argc), &task)) {
    return RunTask(task);
  }
  CLI::App app("Kills, power cuts, full disks and flipped bits against the store.");
  uint64_t kills = 0;
  uint64_t power_cuts = 0;
  uint64_t disk_full = 0;
  uint64_t bit_flips = 0;
  uint64_t pattern_kills = 0;
  uint64_t pattern_power_cuts = 0;
  uint64_t seed = 1;
  std::string folder =
      (fs::temp_directory_path() / ("crash_loop_" + std::to_string(::getpid()))).string();
  app.add_option("--kills", kills, "Writers killed at random moments");
  app.add_option("--power-cuts", power_cuts, "Power cuts that drop or tear unsynced bytes");
  app.add_option("--disk-full", disk_full, "Disks that fill up and are freed again");
  app.add_option("--bit-flips", bit_flips, "Bits flipped in files of a closed store");
  app.add_option("--pattern-kills", pattern_kills, "Kills while patterns and their graph change");
  app.add_option("--pattern-power-cuts", pattern_power_cuts, "Power cuts meanwhile");
  app.add_option("--seed", seed, "The same seed makes the same choices")->capture_default_str();
  app.add_option("--folder", folder, "Where stores live; emptied")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Campaign campaign(fs::read_symlink("/proc/self/exe"), folder, seed);
  bool good = campaign.Kills(kills);
  good = campaign.PowerCuts(power_cuts) && good;
  good = campaign.FullDisks(disk_full) && good;
  good = campaign.BitFlips(bit_flips) && good;
  good = campaign.PatternKills(pattern_kills) && good;
  good = campaign.PatternPowerCuts(pattern_power_cuts) && good;
  if (good) {
    fs::remove_all(folder);
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace ruvd::campaign

int main(int argc, char** argv) {
  return ruvd::campaign::Main(argc, argv);
}
