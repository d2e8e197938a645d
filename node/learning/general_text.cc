// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/general_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/learning/deep_limits.h"

namespace ruvd::learning {
namespace {

constexpr std::string_view kPassage =
    "The village lies at the end of a narrow valley, where the river slows down before it reaches "
    "the "
    "lake. In the morning the baker opens his shop first, and people come to buy bread and to hear "
    "the news. During the summer many visitors walk along the old road to the mill, which was "
    "built "
    "more than two hundred years ago and still grinds flour for the farms around it. When the snow "
    "comes, the school closes for a few days, and the children help their parents to carry wood "
    "and "
    "water. Nobody is in a hurry. A letter may take a week to arrive, and the doctor visits only "
    "once "
    "a month, but most people say that they would not want to live anywhere else.";

constexpr std::array<std::string_view, 6> kGeneral = {
    "The market opens before the sun is up. Farmers bring potatoes, onions and apples from the "
    "hills, and the fishermen lay out what they caught during the night. By noon most of the "
    "stalls are empty, and the people who sold everything sit in the shade and talk about the "
    "price of grain and the weather of the coming week.",
    "My grandfather kept a small workshop behind the house. He repaired clocks, radios and now and "
    "then a bicycle. On the wall hung his tools, each in its place, and nobody was allowed to move "
    "them. When he was old he could still find every screw with his eyes closed, and he liked to "
    "say that patience is the only tool one cannot buy.",
    "The train leaves the city slowly and then runs for hours through flat fields. Sometimes a "
    "church or a water tower stands on the horizon. The passengers read, sleep or look out of the "
    "window, and a child asks again and again how far it is to the sea. In the evening the first "
    "gulls appear above the tracks, and the air smells of salt.",
    "To make a simple soup, cut two carrots, a leek and a few potatoes into pieces and cook them "
    "in salted water until they are soft. Add butter, pepper and a little cream, and stir well. "
    "Some people put fried bread on top. It tastes best on a cold day, with friends around the "
    "table and nothing else to do.",
    "The library is a low building of brick near the old bridge. It has tall windows, and in the "
    "afternoon the light falls on the long tables where students write and retired men read the "
    "newspapers. The woman at the desk knows most of the visitors by name. She remembers which "
    "books they liked, and she often has another one ready for them.",
    "After the storm the whole street came out to see what had happened. A tree had fallen across "
    "the road, two roofs had lost their tiles, and the cellar of the school was full of water. The "
    "neighbours brought ropes, saws and buckets, and by the time the fire engine arrived the road "
    "was free again. Nobody had been hurt, and in the evening there was music."};

// A first token cannot be scored, so a passage has at least two.
constexpr size_t kMinTokens = 2;

std::vector<inference::TokenId> WholePassage(const inference::Model& model, std::string_view text) {
  std::vector<inference::TokenId> tokens = model.tokenizer().EncodePrompt(text);
  tokens.resize(std::min(tokens.size(), static_cast<size_t>(model.config().context)));
  return tokens;
}

// Appends the document's passages.
void CutPassages(const inference::Model& model, const std::string& document,
                 std::vector<std::vector<inference::TokenId>>* passages) {
  const size_t length = std::min(limits::kGeneralPassageTokens,
                                 static_cast<size_t>(std::max(0, model.config().context)));
  const size_t least = std::max(kMinTokens, std::min(limits::kMinPassageTokens, length));
  const std::vector<inference::TokenId> tokens = model.tokenizer().EncodePrompt(document);
  for (std::span<const inference::TokenId> rest(tokens); rest.size() >= least;) {
    const auto passage = rest.first(std::min(length, rest.size()));
    passages->emplace_back(passage.begin(), passage.end());
    rest = rest.subspan(passage.size());
  }
}

Digest ContentOf(const std::vector<inference::TokenId>& passage) {
  ByteWriter out;
  for (const inference::TokenId token : passage) {
    out.Write(token);
  }
  return Sha256(out.str());
}

}  // namespace

std::span<const std::string_view> GeneralText() {
  return kGeneral;
}

std::string_view GateText() {
  return kPassage;
}

GeneralPassages BuiltInPassages(const inference::Model& model) {
  GeneralPassages passages;
  for (const std::string_view text : GeneralText()) {
    passages.replayed.push_back(WholePassage(model, text));
  }
  passages.measured.push_back(WholePassage(model, GateText()));
  return passages;
}

absl::StatusOr<GeneralPassages> PassagesOf(std::span<const std::string> documents,
                                           const inference::Model& model) {
  std::vector<std::vector<inference::TokenId>> all;
  for (const std::string& document : documents) {
    CutPassages(model, document, &all);
  }
  // Passages are ordered by content and repeated ones dropped, so that no replayed passage is also
  // measured.
  std::ranges::sort(all, {}, ContentOf);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  if (all.size() < limits::kMinGeneralPassages) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "general text of {} passage(s) of {} to {} tokens is too little to replay and to "
                 "measure; give at least {}",
                 all.size(), limits::kMinPassageTokens, limits::kGeneralPassageTokens,
                 limits::kMinGeneralPassages);
  }
  GeneralPassages passages;
  const size_t measured =
      std::clamp<size_t>(all.size() / limits::kMeasuredOneOf, 1, limits::kMaxMeasuredPassages);
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < measured) {
      passages.measured.push_back(std::move(all[i]));
    } else if (passages.replayed.size() < limits::kMaxReplayedPassages) {
      passages.replayed.push_back(std::move(all[i]));
    }
  }
  return passages;
}

}  // namespace ruvd::learning
