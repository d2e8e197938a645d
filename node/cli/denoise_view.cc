// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/denoise_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "node/terminal/enum_name.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"

namespace ruvd::cli {
namespace {

// A larger window comes from a faulty server; drawing it would only fill memory.
constexpr size_t kMaxCells = 1 << 16;

constexpr std::string_view kMaskGlyph = "\xE2\x96\x91";  // U+2591, light shade
constexpr size_t kMaskWidth = 3;                         // about the length of a word piece
constexpr int kMaskColour = 240;                         // grey of the 256-colour palette
// The colours run from low to high confidence, dark violet to yellow. Brightness grows too, so the
// scale is readable without seeing hues.
constexpr std::array kConfidenceColours = {97, 67, 73, 114, 221};

int ColourOf(float confidence) {
  const float scaled = std::clamp(confidence, 0.0F, 1.0F) * kConfidenceColours.size();
  return kConfidenceColours[std::min(static_cast<size_t>(scaled), kConfidenceColours.size() - 1)];
}

// Breaks coloured characters into lines of at most `columns`.
class LineBreaker {
 public:
  explicit LineBreaker(size_t columns) : columns_(std::max<size_t>(columns, 1)) {}

  void Put(std::string_view character, int colour) {
    if (character == "\n") {
      NextLine();
      return;
    }
    if (width_ == columns_) {
      NextLine();
    }
    if (colour != colour_) {
      lines_.back() += fmt::format("\x1b[38;5;{}m", colour);
      colour_ = colour;
    }
    lines_.back() += character == "\t" ? " " : character;
    ++width_;
  }

  std::vector<std::string> Take() {
    EndColour();
    return std::move(lines_);
  }

 private:
  void NextLine() {
    EndColour();
    lines_.emplace_back();
    width_ = 0;
  }
  void EndColour() {
    if (colour_ >= 0) {
      lines_.back() += "\x1b[0m";
      colour_ = -1;
    }
  }

  size_t columns_;
  std::vector<std::string> lines_ = {""};
  size_t width_ = 0;
  int colour_ = -1;
};

}  // namespace

void DenoiseView::OnEvent(const inference::v1::GenerateResponse& event) {
  if (event.has_started()) {
    started_ = event.started();
    cells_.resize(std::min<size_t>(started_.window(), kMaxCells));
    for (const auto& given : started_.given()) {
      Fill(given);
    }
    Redraw();
  } else if (event.has_denoise_frame()) {
    Apply(event.denoise_frame());
    Redraw();
  } else if (event.has_text_delta()) {
    text_ += event.text_delta().text();
    if (!options_.live) {
      out_ << Printable(event.text_delta().text()) << std::flush;
    }
  } else if (event.has_finished()) {
    finished_ = event.finished();
  }
}

void DenoiseView::Apply(const inference::v1::DenoiseFrame& frame) {
  for (const auto& commit : frame.commits()) {
    Fill(commit);
  }
  for (const uint32_t position : frame.remasked()) {
    if (position < cells_.size()) {
      cells_[position] = Cell();
    }
  }
}

void DenoiseView::Fill(const inference::v1::Commit& commit) {
  if (commit.position() < cells_.size()) {
    cells_[commit.position()] = {commit.text(), commit.confidence(), false};
  }
}

std::vector<std::string> DenoiseView::Lines() const {
  LineBreaker breaker(options_.columns);
  for (const Cell& cell : cells_) {
    if (cell.masked) {
      for (size_t i = 0; i < kMaskWidth; ++i) {
        breaker.Put(kMaskGlyph, kMaskColour);
      }
      breaker.Put(" ", kMaskColour);
      continue;
    }
    const std::string text = Printable(cell.text);
    for (const std::string_view character : SplitCharacters(text)) {
      breaker.Put(character, ColourOf(cell.confidence));
    }
  }
  return breaker.Take();
}

void DenoiseView::ClearDrawing() {
  if (drawn_lines_ > 1) {
    out_ << fmt::format("\x1b[{}A", drawn_lines_ - 1);  // up to the first line
  }
  if (drawn_lines_ > 0) {
    out_ << "\r\x1b[J";  // erase to the end of the screen
  }
  drawn_lines_ = 0;
}

void DenoiseView::Redraw() {
  if (!options_.live) {
    return;
  }
  ClearDrawing();
  std::vector<std::string> lines = Lines();
  // Lines that scrolled out of the terminal cannot be redrawn.
  const size_t room = std::max<size_t>(options_.rows, 3) - 2;
  if (lines.size() > room) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(room));
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    out_ << (i == 0 ? "" : "\n") << lines[i];
  }
  drawn_lines_ = lines.size();
  out_ << std::flush;
}

void DenoiseView::Close() {
  if (options_.live) {
    ClearDrawing();
    out_ << Printable(text_);
  }
  if (text_.empty() || text_.back() != '\n') {
    out_ << "\n";
  }
  out_ << std::flush;
}

std::string GenerationFooter(const inference::v1::Finished& finished) {
  const double tokens = finished.usage().completion_tokens();
  const double seconds = SecondsOf(finished.duration());
  const double rate = seconds > 0 ? tokens / seconds : 0;
  const double parallel = finished.forwards() > 0 ? tokens / finished.forwards() : 0;
  std::string adapters;
  for (const auto& use : finished.adapters_used()) {
    // A pattern says how near it is, any other adapter how strongly it acts.
    adapters += fmt::format("{}{}@{} ({})", adapters.empty() ? "" : ", ", Printable(use.name()),
                            use.version(),
                            use.pattern_id().empty() ? fmt::format("weight {:.2f}", use.weight())
                                                     : fmt::format("{:.2f}", use.similarity()));
  }
  const std::string memory =
      finished.has_memory()
          ? fmt::format(" · memory: {:.0f} % from {} tokens", 100 * finished.memory().share(),
                        finished.memory().tokens())
          : "";
  const std::string route = finished.has_route()
                                ? fmt::format(" · route: {}{}", EnumName(finished.route().kind()),
                                              finished.route().explored() ? " (explored)" : "")
                                : "";
  return fmt::format("{} steps · {:.1f} tokens/s · {:.2f} tokens/forward · adapters: {}{}{}",
                     finished.steps(), rate, parallel, adapters.empty() ? "none" : adapters, memory,
                     route);
}

}  // namespace ruvd::cli
