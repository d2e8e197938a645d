// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/meter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

namespace ruvd::bench {
namespace {

double Milliseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Meter::Meter()
    : wall_(Milliseconds(CLOCK_MONOTONIC)), cpu_(Milliseconds(CLOCK_PROCESS_CPUTIME_ID)) {}

double Meter::WallMs() const {
  return Milliseconds(CLOCK_MONOTONIC) - wall_;
}

double Meter::CpuMs() const {
  return Milliseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_;
}

void Measurement::Add(const Meter& meter) {
  wall_ms_.push_back(meter.WallMs());
  cpu_ms_.push_back(meter.CpuMs());
}

void Measurement::AddDetail(const std::string& key, double value) {
  details_ += fmt::format(", \"{}\": {:.6g}", key, value);
}

double Measurement::BestCpuMs() const {
  return *std::ranges::min_element(cpu_ms_);
}

std::string Measurement::JsonLine(const std::string& command) const {
  const double wall = *std::ranges::min_element(wall_ms_);
  const double cpu = BestCpuMs();
  return fmt::format(
      "{{\"program\": \"ruvdllm\", \"command\": \"{}\", \"ms_wall\": {:.3f}, \"ms_cpu\": {:.3f}, "
      "\"ms_wall_median\": {:.3f}, \"ms_cpu_median\": {:.3f}, \"gflops\": {:.2f}, "
      "\"tokens_per_s\": {:.2f}, \"tokens_per_forward\": {:.3f}, \"rss_mb\": {:.1f}{}}}",
      command, wall, cpu, Median(wall_ms_), Median(cpu_ms_), flops_ / cpu / 1e6,
      tokens_ / wall * 1e3, tokens_per_forward_, ResidentMegabytes(), details_);
}

double ResidentMegabytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1048576.0;
}

}  // namespace ruvd::bench
