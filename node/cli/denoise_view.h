// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::cli {

// Shows a completion while it is denoised. Live: every masked position is a grey block that turns
// into its word in place; the colour shows the confidence of the commit, and each step redraws the
// text. Not live: the view prints only text that can no longer change. Not thread-safe.
class DenoiseView {
 public:
  struct Options {
    bool live = false;
    size_t columns = 80;
    size_t rows = 24;  // of the terminal; of a longer text only the last rows are drawn
  };

  DenoiseView(std::ostream& out, Options options) : out_(out), options_(options) {}

  void OnEvent(const inference::v1::GenerateResponse& event);
  // Replaces the live picture by the final text and ends the line.
  void Close();

  // Returns all text that arrived so far.
  const std::string& text() const { return text_; }
  const inference::v1::Started& started() const { return started_; }
  const inference::v1::Finished& finished() const { return finished_; }

 private:
  struct Cell {
    std::string text;
    float confidence = 0;
    bool masked = true;
  };

  void Apply(const inference::v1::DenoiseFrame& frame);
  void Fill(const inference::v1::Commit& commit);
  void Redraw();
  void ClearDrawing();
  // Returns the window as coloured lines that fit the terminal.
  std::vector<std::string> Lines() const;

  std::ostream& out_;
  Options options_;
  std::vector<Cell> cells_;
  std::string text_;
  inference::v1::Started started_;
  inference::v1::Finished finished_;
  size_t drawn_lines_ = 0;
};

// Returns a line such as "64 steps · 51.2 tokens/s · 1.8 tokens/forward · adapters: p-1@3 (0.97)"
std::string GenerationFooter(const inference::v1::Finished& finished);

}  // namespace ruvd::cli
