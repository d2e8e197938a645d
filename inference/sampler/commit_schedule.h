// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::inference {

// How many masked positions a denoising step commits. This is known before the forward, so a step
// that commits nothing needs no forward. Schedules are immutable and thread-safe.
class CommitSchedule {
 public:
  virtual ~CommitSchedule() = default;
  virtual int steps() const = 0;
  // Returns the number for step 0 <= step < steps() with `masked` masks left in scope. The last
  // step commits all of them.
  virtual int Count(int step, int masked) const = 0;
};

// Divides the masks evenly among the steps, the remainder first (LLaDA's block schedule). It counts
// the masks that are left, so if a threshold committed more earlier, the scope only ends sooner.
class EvenSchedule final : public CommitSchedule {
 public:
  explicit EvenSchedule(int steps) : steps_(steps) {}
  int steps() const override { return steps_; }
  int Count(int step, int masked) const override;

 private:
  int steps_;
};

// Dream's timestep schedule: with t(i) = 1 - (i / steps)(1 - eps), step i commits
// floor(masked (1 - t(i+1) / t(i))). Its early steps often commit nothing.
class TimestepSchedule final : public CommitSchedule {
 public:
  TimestepSchedule(int steps, double eps) : steps_(steps), eps_(eps) {}
  int steps() const override { return steps_; }
  int Count(int step, int masked) const override;

 private:
  int steps_;
  double eps_;
};

}  // namespace ruvd::inference
