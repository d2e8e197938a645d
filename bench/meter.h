// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

namespace ruvd::bench {

// Time that passed, and time that all threads of this process spent on processors, since the
// object was made; milliseconds. On a shared machine only the second says what work costs.
class Meter {
 public:
  Meter();
  double WallMs() const;
  double CpuMs() const;

 private:
  double wall_;
  double cpu_;
};

// One measured command: repetitions of the same work.
class Measurement {
 public:
  // Adds a repetition that `meter` has measured until now.
  void Add(const Meter& meter);
  // Set the floating-point operations and the tokens of one repetition.
  void set_flops(double flops) { flops_ = flops; }
  void set_tokens(double tokens) { tokens_ = tokens; }
  void set_tokens_per_forward(double tokens) { tokens_per_forward_ = tokens; }
  // Adds another member to the line: a number.
  void AddDetail(const std::string& key, double value);

  // CPU time of the best repetition.
  double BestCpuMs() const;
  // {"ms_wall": ..., "ms_cpu": ..., "gflops": ..., "tokens_per_s": ..., "tokens_per_forward": ...,
  // "rss_mb": ..., and details}. Times are those of the best repetition, the medians are beside
  // them. gflops is flops per CPU time, so it is a rate per busy core; tokens_per_s is by wall
  // time; rss_mb is this process's resident memory now.
  std::string JsonLine(const std::string& command) const;

 private:
  std::vector<double> wall_ms_;
  std::vector<double> cpu_ms_;
  double flops_ = 0;
  double tokens_ = 0;
  double tokens_per_forward_ = 0;
  std::string details_;
};

// Returns the resident memory of this process now; 0 where the system does not report it.
double ResidentMegabytes();

}  // namespace ruvd::bench
