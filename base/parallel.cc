// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace ruvd {
namespace {

using Body = std::function<void(size_t begin, size_t end)>;

class Serial final : public ParallelRunner {
 public:
  void For(size_t count, size_t grain, const Body& body) override {
    const size_t step = std::max<size_t>(grain, 1);
    for (size_t begin = 0; begin < count; begin += std::min(step, count - begin)) {
      body(begin, begin + std::min(step, count - begin));
    }
  }
  int threads() const override { return 1; }
};

// About 20 µs on current cores (a pause takes 40 to 50 cycles): longer than most serial gaps
// between two loops of one forward pass, and not much longer than a sleep and a wake-up cost.
constexpr int kSpins = 2000;
// The calling thread spins for a shorter time before it sleeps: if another process has taken a
// helper's core, the sleep frees a core for that helper.
constexpr int kCallerSpins = 500;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ParallelRunner& SerialRunner() {
  static auto* const runner = new Serial;
  return *runner;
}

// Each thread has a share of a loop's ranges. The share is the same in every loop of equal length,
// so that its data may still be in the core's caches. A thread that has finished its share takes
// ranges from the others. A share is one atomic number: the upper half is the loop's round, the
// lower half counts the ranges that are left. While a thread holds a range the loop cannot end, so
// the loop's data stay valid; a thread that comes too late finds no range and touches no data. The
// caller waits for ranges that were taken, never for a thread: a helper that is kept from running
// delays the loop only if it holds a range.
class ThreadParallelRunner::Crew {
 public:
  explicit Crew(int threads) : shares_(static_cast<size_t>(threads)) {
    helpers_.reserve(shares_.size() - 1);
    for (size_t i = 1; i < shares_.size(); ++i) {
      helpers_.emplace_back([this, i] { Help(i); });
    }
  }
  ~Crew() {
    {
      MutexLock lock(mutex_);
      stop_.store(true);
    }
    wake_.NotifyAll();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int threads() const { return static_cast<int>(shares_.size()); }

  void Run(size_t count, size_t grain, const Body& body) {
    RUVD_CHECK(!busy_.exchange(true));
    loop_ = {.body = &body, .count = count, .grain = grain, .ranges = (count - 1) / grain + 1};
    RUVD_CHECK(loop_.ranges <= kMaxRanges);
    done_.store(0);
    const uint64_t round = round_.load() + 1;
    for (size_t i = 0; i < shares_.size(); ++i) {
      shares_[i].left.store(round << kRangeBits |
                            (ShareBegin(loop_, i + 1) - ShareBegin(loop_, i)));
    }
    round_.store(round);
    WakeHelpers(loop_.ranges - 1);
    TakeRanges(0);
    AwaitRanges();
    busy_.store(false);
  }

 private:
  static constexpr int kRangeBits = 32;
  static constexpr uint64_t kMaxRanges = (uint64_t{1} << kRangeBits) - 1;

  struct Loop {
    const Body* body = nullptr;
    size_t count = 0;
    size_t grain = 1;
    uint64_t ranges = 0;
  };
  struct alignas(64) Share {
    std::atomic<uint64_t> left{0};
  };

  uint64_t ShareBegin(const Loop& loop, size_t share) const {
    return loop.ranges * share / shares_.size();
  }

  // Runs ranges of the current loop until none is left, beginning with the share `own`.
  void TakeRanges(size_t own) {
    for (size_t i = 0; i < shares_.size(); ++i) {
      TakeShare((own + i) % shares_.size());
    }
  }

  void TakeShare(size_t share) {
    std::atomic<uint64_t>& shared = shares_[share].left;
    uint64_t left = shared.load();
    while ((left & kMaxRanges) != 0) {
      if (!shared.compare_exchange_weak(left, left - 1)) {
        continue;
      }
      const Loop loop = loop_;
      const uint64_t index = ShareBegin(loop, share + 1) - (left & kMaxRanges);
      const size_t begin = index * loop.grain;
      (*loop.body)(begin, std::min(loop.count, begin + loop.grain));
      if (done_.fetch_add(1) + 1 == loop.ranges && caller_sleeps_.load()) {
        MutexLock lock(mutex_);
        finished_.NotifyOne();
      }
      left = shared.load();
    }
  }

  // A helper counts itself asleep before it looks for a new round for the last time, and the caller
  // reads that count after it has published a round. So either the helper sees the round or the
  // caller sees the sleeper.
  void WakeHelpers(uint64_t wanted) {
    if (sleepers_.load() == 0) {
      return;
    }
    MutexLock lock(mutex_);
    if (wanted >= shares_.size() - 1) {
      wake_.NotifyAll();
      return;
    }
    for (uint64_t i = 0; i < wanted; ++i) {
      wake_.NotifyOne();
    }
  }

  void AwaitRanges() {
    for (int spin = 0; spin < kCallerSpins && done_.load() != loop_.ranges; ++spin) {
      Pause();
    }
    if (done_.load() == loop_.ranges) {
      return;
    }
    MutexLock lock(mutex_);
    caller_sleeps_.store(true);
    while (done_.load() != loop_.ranges) {
      finished_.Wait(mutex_);
    }
    caller_sleeps_.store(false);
  }

  // Sleeps until the round differs from `seen` or the crew is being destroyed.
  void Sleep(uint64_t seen) {
    MutexLock lock(mutex_);
    sleepers_.fetch_add(1);
    while (!stop_.load() && round_.load() == seen) {
      wake_.Wait(mutex_);
    }
    sleepers_.fetch_sub(1);
  }

  void Help(size_t own) {
    uint64_t seen = 0;
    while (!stop_.load()) {
      for (int spin = 0; spin < kSpins && round_.load() == seen; ++spin) {
        Pause();
      }
      if (round_.load() == seen) {
        Sleep(seen);
      }
      seen = round_.load();
      TakeRanges(own);
    }
  }

  std::vector<Share> shares_;
  std::atomic<bool> busy_{false};
  Loop loop_;  // written while no range is left, read by threads that took a range
  std::atomic<uint64_t> round_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  Mutex mutex_;  // held while sleeping and waking
  CondVar wake_;
  CondVar finished_;
  std::vector<std::jthread> helpers_;
};

ThreadParallelRunner::ThreadParallelRunner(int threads) {
  RUVD_CHECK(threads >= 1);
  crew_ = std::make_unique<Crew>(threads);
}

ThreadParallelRunner::~ThreadParallelRunner() = default;

void ThreadParallelRunner::For(size_t count, size_t grain, const Body& body) {
  grain = std::max<size_t>(grain, 1);
  if (count <= grain || crew_->threads() == 1) {
    SerialRunner().For(count, grain, body);
    return;
  }
  crew_->Run(count, grain, body);
}

int ThreadParallelRunner::threads() const {
  return crew_->threads();
}

}  // namespace ruvd
