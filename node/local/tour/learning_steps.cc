// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The first part of the tour, on node a alone: the node answers, is corrected, learns, and
// improves.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/status.h"
#include "node/local/tour/tour.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/node/v1/node.pb.h"

namespace ruvd::cli {
namespace {

// Returns one line of a completion for the report.
std::string Excerpt(const std::string& text) {
  constexpr size_t kColumns = 60;
  std::string line = Printable(text);
  std::ranges::replace(line, '\n', ' ');
  const auto characters = SplitCharacters(line);
  std::string out;
  for (size_t i = 0; i < std::min(characters.size(), kColumns); ++i) {
    out += characters[i];
  }
  return characters.size() > kColumns ? out + "..." : out;
}

absl::StatusOr<std::string> Generate(Tour& tour) {
  const TourLesson& lesson = TourLessons()[0];
  ASSIGN_OR_RETURN(tour.loss_before_a,
                   HeldOutLoss(tour.a(), lesson.prompt, lesson.correction, true));
  ASSIGN_OR_RETURN(tour.loss_before_b,
                   HeldOutLoss(tour.b(), lesson.prompt, lesson.correction, true));
  std::string text;
  ASSIGN_OR_RETURN(const auto finished, Complete(tour.a(), lesson.prompt, &text));
  const uint32_t tokens = finished.usage().completion_tokens();
  if (tokens == 0 || !finished.adapters_used().empty()) {
    return Unexpected("expected tokens and no adapter on a fresh node");
  }
  tour.response_id = finished.response_id();
  return fmt::format("{} tokens in {} steps, {:.1f} tokens/s: \"{}\"", tokens, finished.steps(),
                     tokens / std::max(SecondsOf(finished.duration()), 1e-9), Excerpt(text));
}

absl::StatusOr<std::string> RateIt(Tour& tour) {
  learning::v1::SubmitFeedbackRequest request;
  request.set_response_id(tour.response_id);
  request.set_rating(0.2F);
  ASSIGN_OR_RETURN(const auto response,
                   tour.a().Call<learning::v1::SubmitFeedbackResponse>(request));
  return fmt::format("0.2; a answers: {}", Printable(response.explanation()));
}

// Returns the milliseconds until the words of the correction act on the next request.
absl::StatusOr<double> TimeToEffect(Tour& tour) {
  constexpr std::chrono::seconds kPatience(20);
  const auto remembered = [&tour]() -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const auto status,
                     tour.a().Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
    return status.memory().lessons() > 0 && status.memory().waiting() == 0;
  };
  ASSIGN_OR_RETURN(const double seconds,
                   WaitUntil("the correction is remembered", kPatience, remembered));
  return 1e3 * seconds;
}

absl::StatusOr<std::string> CorrectIt(Tour& tour) {
  ASSIGN_OR_RETURN(const auto response,
                   Correct(tour.a(), tour.response_id, TourLessons()[0].correction));
  ASSIGN_OR_RETURN(const double effect, TimeToEffect(tour));
  if (!response.learned() || response.pattern_id().empty()) {
    return Unexpected(fmt::format("nothing was learned: {}", Printable(response.explanation())));
  }
  tour.pattern_id = response.pattern_id();
  tour.acknowledged.push_back(response.pattern_id());
  if (!(response.held_out_loss_after() < response.held_out_loss_before())) {
    return Unexpected(fmt::format("a's own held-out loss did not fall: {:.3f} -> {:.3f}",
                                  response.held_out_loss_before(), response.held_out_loss_after()));
  }
  return fmt::format(
      "pattern {}, adapter {}@{}, held-out loss {:.3f} -> {:.3f}, {:.1f} s; its words act {:.0f} "
      "ms after the answer",
      response.pattern_id(), response.adapter_name(), response.adapter_version(),
      response.held_out_loss_before(), response.held_out_loss_after(),
      SecondsOf(response.duration()), effect);
}

absl::StatusOr<std::string> UseIt(Tour& tour) {
  std::string text;
  ASSIGN_OR_RETURN(const auto finished, Complete(tour.a(), TourLessons()[0].prompt, &text));
  const auto& used = finished.adapters_used();
  const auto found = std::find_if(used.begin(), used.end(), [&](const auto& use) {
    return use.pattern_id() == tour.pattern_id;
  });
  if (found == used.end()) {
    return Unexpected("the pattern's adapter was not used");
  }
  return fmt::format("adapter {}@{}, similarity {:.3f}: \"{}\"", found->name(), found->version(),
                     found->similarity(), Excerpt(text));
}

absl::StatusOr<std::string> LossFell(Tour& tour) {
  const TourLesson& lesson = TourLessons()[0];
  ASSIGN_OR_RETURN(const double with,
                   HeldOutLoss(tour.a(), lesson.prompt, lesson.correction, true));
  ASSIGN_OR_RETURN(const double without,
                   HeldOutLoss(tour.a(), lesson.prompt, lesson.correction, false));
  if (!(with < tour.loss_before_a)) {
    return Unexpected(fmt::format("{:.4f} before, {:.4f} now", tour.loss_before_a, with));
  }
  return fmt::format("{:.4f} before, {:.4f} now ({:.4f} with adapters off) nats/token",
                     tour.loss_before_a, with, without);
}

absl::StatusOr<std::string> Paraphrase(Tour& tour) {
  constexpr double kLeastGain = 0.5;  // nats/token, as served
  const TourLesson& lesson = TourLessons()[0];
  const auto loss = [&](bool adapters, bool memory) {
    return HeldOutLoss(tour.a(), lesson.unseen_prompt, lesson.unseen_completion, adapters, memory);
  };
  ASSIGN_OR_RETURN(const double before, loss(false, false));
  ASSIGN_OR_RETURN(const double adapted, loss(true, false));
  ASSIGN_OR_RETURN(const double remembered, loss(false, true));
  ASSIGN_OR_RETURN(const double served, loss(true, true));
  std::string losses = fmt::format(
      "{:.4f} before, {:.4f} now; {:.4f} with the adapter alone, {:.4f} with the memory alone",
      before, served, adapted, remembered);
  if (!(served < before - kLeastGain) || !(remembered < before)) {
    return Unexpected(fmt::format("it must gain {} nats/token, and the memory must help: {}",
                                  kLeastGain, losses));
  }
  return losses;
}

const TourStep kLearningSteps[] = {
    {"generate on a", Generate},
    {"rate it", RateIt},
    {"correct it: a learns", CorrectIt},
    {"same prompt again: the adapter is used", UseIt},
    {"held-out loss of the correction fell", LossFell},
    {"an unseen paraphrase", Paraphrase},
};

}  // namespace

std::span<const TourStep> LearningSteps() {
  return kLearningSteps;
}

}  // namespace ruvd::cli
