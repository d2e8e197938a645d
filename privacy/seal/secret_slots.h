// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ruvd::privacy {

inline constexpr size_t kSecretSlotBytes = 32;

// Returns space for one key in guarded, locked memory that many keys share. A guarded allocation
// for each key would cost four pages, and the limit on locked memory (8 MiB by default) does not
// allow thousands of them. The slot is zero at first and is wiped when the last pointer is
// destroyed. Thread-safe.
std::shared_ptr<uint8_t> NewSecretSlot();

// Returns whether the operating system lets this process lock memory; if not, keys may reach the
// swap space. It is tested once. Thread-safe.
bool SecretsCanBeLocked();

}  // namespace ruvd::privacy
