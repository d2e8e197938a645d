// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ruvd::privacy {

inline constexpr size_t kSecretSlotBytes = 32;

// A place for one key in guarded, locked memory that many keys share: a guarded allocation of its
// own costs four pages, which the limit on locked memory (8 MiB by default) does not allow for
// thousands of them. Zeroed at first, wiped when the last pointer goes. Thread-safe.
std::shared_ptr<uint8_t> NewSecretSlot();

// Whether the operating system lets this process lock memory; where not, keys may reach the swap
// space. Asked once. Thread-safe.
bool SecretsCanBeLocked();

}  // namespace ruvd::privacy
