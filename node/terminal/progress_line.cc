// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/progress_line.h"

#include <fmt/format.h>

#include <utility>

#include "node/terminal/terminal.h"

namespace ruvd::cli {

void ProgressLine::Show(std::string_view text) {
  if (!context_.err_is_terminal) {
    return;
  }
  context_.err << fmt::format("\r{:<{}}", text, width_) << std::flush;
  width_ = DisplayWidth(text);
}

void ProgressLine::End() {
  if (std::exchange(width_, 0) > 0) {
    context_.err << "\n" << std::flush;
  }
}

}  // namespace ruvd::cli
