// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <mutex>
#include <shared_mutex>

namespace ruvd::storage {

// A std::shared_mutex whose writers do not starve. The one of glibc admits new readers while a
// writer waits, so steady searches would delay an insert for seconds. Here a waiting writer closes
// a gate that every new caller has to pass. Use it with std::shared_lock and std::unique_lock. It
// is not recursive, not even for readers.
class FairSharedMutex {
 public:
  void lock() {
    const std::lock_guard gate(gate_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }
  void lock_shared() {
    const std::lock_guard gate(gate_);
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::mutex gate_;
  std::shared_mutex mutex_;
};

}  // namespace ruvd::storage
