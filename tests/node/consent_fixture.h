// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "storage/consent/consent_book.h"
#include "tests/federation/fixture.h"

namespace ruvd {

// Records that a user allows these uses of the user's lessons under the tier dp from `now_ms` on.
inline void SayUnderDp(storage::ConsentBook& book, const std::string& user, uint8_t purposes,
                       int64_t now_ms) {
  ASSERT_TRUE(book.Record({.subject = {.id = user},
                           .purposes = purposes,
                           .widest = privacy::ConsentTier::kDp,
                           .expires_ms = 300 * test::kDayMillis},
                          now_ms)
                  .ok());
}

}  // namespace ruvd
