// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/limit_registry.h"

#include <algorithm>
#include <utility>

namespace ruvd {

void LimitRegistry::Add(Reader reader) {
  const MutexLock lock(mutex_);
  readers_.push_back(std::move(reader));
}

std::vector<LimitUse> LimitRegistry::Read() const {
  std::vector<LimitUse> all;
  const MutexLock lock(mutex_);
  for (const Reader& reader : readers_) {
    const std::vector<LimitUse> limits = reader();
    all.insert(all.end(), limits.begin(), limits.end());
  }
  std::ranges::sort(all, {}, &LimitUse::name);
  return all;
}

}  // namespace ruvd
