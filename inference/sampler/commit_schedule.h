// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::inference {

// How many masked positions a denoising step commits. Known before the forward, so that a step
// which commits nothing needs no forward at all. Immutable and thread-safe.
class CommitSchedule {
 public:
  virtual ~CommitSchedule() = default;
  virtual int steps() const = 0;
  // For step 0 <= step < steps() with `masked` masks left in scope. The last step commits all.
  virtual int Count(int step, int masked) const = 0;
};

// Shares the masks evenly over the steps, the remainder first (LLaDA's block schedule). Counts from
// what is left, so a threshold that committed more before only ends the scope sooner.
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
