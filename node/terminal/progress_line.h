// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string_view>

#include "node/terminal/command.h"

namespace ruvd::cli {

// A line on standard error that says how far long work is. It shows nothing if standard error is no
// terminal. Not thread-safe.
class ProgressLine {
 public:
  // `context` must outlive the line.
  explicit ProgressLine(CommandContext& context) : context_(context) {}
  ~ProgressLine() { End(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Replaces the text of the line.
  void Show(std::string_view text);
  // Ends the line, so that what follows begins a new one.
  void End();

 private:
  CommandContext& context_;
  size_t width_ = 0;  // of the text that is shown; 0: none was
};

}  // namespace ruvd::cli
