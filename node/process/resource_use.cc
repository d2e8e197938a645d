// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/resource_use.h"

#include <filesystem>
#include <system_error>

namespace ruvd::node {
namespace {

uint64_t CountEntries(const char* folder) {
  uint64_t entries = 0;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    ++entries;
  }
  return entries;
}

}  // namespace

uint64_t CountDescriptors() {
  const uint64_t entries = CountEntries("/proc/self/fd");
  return entries == 0 ? 0 : entries - 1;  // one is that of the folder itself
}

uint64_t CountThreads() {
  return CountEntries("/proc/self/task");
}

}  // namespace ruvd::node
