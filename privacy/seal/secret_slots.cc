// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/secret_slots.h"

#include <sodium.h>

#include <array>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

constexpr size_t kSlotsPerBlock = 128;

// Blocks are never freed: the largest number of keys in use at once bounds their number.
class SlotPool {
 public:
  uint8_t* Take() {
    const MutexLock lock(mutex_);
    if (free_.empty()) {
      AddBlock();
    }
    uint8_t* slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void GiveBack(uint8_t* slot) {
    SecureWipe({slot, kSecretSlotBytes});
    const MutexLock lock(mutex_);
    free_.push_back(slot);
  }

 private:
  void AddBlock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    InitSodium();
    auto* block = static_cast<uint8_t*>(sodium_malloc(kSlotsPerBlock * kSecretSlotBytes));
    RUVD_CHECK(block != nullptr);
    sodium_memzero(block, kSlotsPerBlock * kSecretSlotBytes);
    for (size_t i = kSlotsPerBlock; i-- > 0;) {
      free_.push_back(block + i * kSecretSlotBytes);
    }
  }

  Mutex mutex_;
  std::vector<uint8_t*> free_ ABSL_GUARDED_BY(mutex_);
};

// The pool is never destroyed, because objects of static storage duration may hold keys.
SlotPool& Pool() {
  static auto* const pool = new SlotPool;
  return *pool;
}

}  // namespace

// sodium_malloc locks the memory that it returns, but does not report a failure to lock it.
bool SecretsCanBeLocked() {
  static const bool can = [] {
    InitSodium();
    static std::array<uint8_t, kSlotsPerBlock * kSecretSlotBytes> probe;
    const bool locked = sodium_mlock(probe.data(), probe.size()) == 0;
    if (locked) {
      sodium_munlock(probe.data(), probe.size());
    }
    return locked;
  }();
  return can;
}

std::shared_ptr<uint8_t> NewSecretSlot() {
  return {Pool().Take(), [](uint8_t* slot) { Pool().GiveBack(slot); }};
}

}  // namespace ruvd::privacy
