// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace ruvd::inference {
namespace {

constexpr uint32_t kRuns[] = {
#include "inference/tokenizer/unicode_tables.inc"
};
constexpr uint32_t kClassBits = 3;
constexpr uint32_t kCodePoints = 0x110000;
constexpr uint32_t kPageSize = 256;

// The classes in pages of 256 code points. Equal pages, such as those of one script's letters, are
// stored once.
struct Pages {
  std::array<uint16_t, kCodePoints / kPageSize> page_of{};
  std::vector<std::array<CharClass, kPageSize>> pages;
};

const Pages& AllPages() {
  static const Pages& kPages = *[] {
    auto* out = new Pages;
    size_t run = 0;
    for (uint32_t number = 0; number < out->page_of.size(); ++number) {
      std::array<CharClass, kPageSize> page{};
      for (uint32_t i = 0; i < kPageSize; ++i) {
        const uint32_t code_point = number * kPageSize + i;
        while (run + 1 < std::size(kRuns) && kRuns[run + 1] >> kClassBits <= code_point) {
          ++run;
        }
        page.at(i) = static_cast<CharClass>(kRuns[run] & ((1U << kClassBits) - 1));
      }
      const auto known = std::find(out->pages.begin(), out->pages.end(), page);
      out->page_of.at(number) = static_cast<uint16_t>(known - out->pages.begin());
      if (known == out->pages.end()) {
        out->pages.push_back(page);
      }
    }
    return out;
  }();
  return kPages;
}

}  // namespace

CharClass ClassOf(uint32_t code_point) {
  if (code_point >= kCodePoints) {
    return CharClass::kOther;
  }
  const Pages& pages = AllPages();
  return pages.pages[pages.page_of[code_point / kPageSize]][code_point % kPageSize];
}

}  // namespace ruvd::inference
