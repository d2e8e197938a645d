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

// About 5 µs on current cores: longer than the serial gaps between two loops of one forward pass,
// shorter than what a sleep and a wake-up cost.
constexpr int kSpins = 400;

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

// A loop is open between its publication and the moment the caller found no range left; threads
// join it only while it is open, so the caller waits for those who joined and for nobody else.
class ThreadParallelRunner::Crew {
 public:
  explicit Crew(int threads) : threads_(threads) {
    helpers_.reserve(static_cast<size_t>(threads - 1));
    for (int i = 1; i < threads; ++i) {
      helpers_.emplace_back([this] { Help(); });
    }
  }
  ~Crew() {
    {
      MutexLock lock(mutex_);
      stop_ = true;
      round_.fetch_add(1);
    }
    wake_.NotifyAll();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int threads() const { return threads_; }

  void Run(size_t count, size_t grain, const Body& body) {
    {
      MutexLock lock(mutex_);
      RUVD_CHECK(!busy_);
      busy_ = true;
      open_ = true;
      body_ = &body;
      count_ = count;
      grain_ = grain;
      next_.store(0);
      round_.fetch_add(1);
    }
    wake_.NotifyAll();
    TakeRanges(count, grain, body);
    {
      MutexLock lock(mutex_);
      open_ = false;
    }
    AwaitHelpers();
  }

 private:
  void TakeRanges(size_t count, size_t grain, const Body& body) {
    const size_t ranges = count / grain + (count % grain != 0 ? 1 : 0);
    for (size_t i = next_.fetch_add(1); i < ranges; i = next_.fetch_add(1)) {
      body(i * grain, std::min(count, (i + 1) * grain));
    }
  }

  void AwaitHelpers() {
    for (int spin = 0; spin < kSpins && helping_.load() > 0; ++spin) {
      Pause();
    }
    MutexLock lock(mutex_);
    while (helping_.load() > 0) {
      done_.Wait(mutex_);
    }
    busy_ = false;
  }

  void Help() {
    uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && round_.load() == seen; ++spin) {
        Pause();
      }
      const Body* body = nullptr;
      size_t count = 0;
      size_t grain = 1;
      {
        MutexLock lock(mutex_);
        while (!stop_ && round_.load() == seen) {
          wake_.Wait(mutex_);
        }
        if (stop_) {
          return;
        }
        seen = round_.load();
        if (!open_) {
          continue;
        }
        helping_.fetch_add(1);
        body = body_;
        count = count_;
        grain = grain_;
      }
      TakeRanges(count, grain, *body);
      MutexLock lock(mutex_);
      if (helping_.fetch_sub(1) == 1) {
        done_.NotifyOne();
      }
    }
  }

  const int threads_;
  Mutex mutex_;
  CondVar wake_;
  CondVar done_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  const Body* body_ ABSL_GUARDED_BY(mutex_) = nullptr;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t grain_ ABSL_GUARDED_BY(mutex_) = 1;
  std::atomic<uint64_t> round_{0};
  std::atomic<size_t> next_{0};
  std::atomic<int> helping_{0};
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
