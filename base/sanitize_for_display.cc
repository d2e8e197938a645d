// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/sanitize_for_display.h"

namespace ruvd {

std::string SanitizeForDisplay(std::string_view text, size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    out += (c >= ' ' && c <= '~') ? c : '?';
  }
  return text.size() > limit ? out + "..." : out;
}

}  // namespace ruvd
