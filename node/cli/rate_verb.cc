// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "node/cli/last_response.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "ruvd/learning/v1/learning.pb.h"

namespace ruvd::cli {
namespace {

struct RateFlags {
  std::string response;
  std::string rating;
  std::optional<std::string> fix;
  bool accept = false;
  bool copied = false;
  bool regenerated = false;
  std::vector<std::string> metadata;  // NAME=VALUE
  std::string id;
};

std::optional<float> ParseRating(const std::string& text) {
  if (text == "good") {
    return 1.0F;
  }
  if (text == "bad") {
    return 0.0F;
  }
  float rating = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rating);
  if (error != std::errc() || end != text.data() + text.size() || !(rating >= 0 && rating <= 1)) {
    return std::nullopt;
  }
  return rating;
}

absl::StatusOr<learning::v1::SubmitFeedbackRequest> MakeRequest(const CommandContext& context,
                                                                const RateFlags& flags) {
  const int signals = (flags.rating.empty() ? 0 : 1) + (flags.fix ? 1 : 0) +
                      (flags.accept ? 1 : 0) + (flags.copied ? 1 : 0) + (flags.regenerated ? 1 : 0);
  if (signals != 1) {
    return UsageError(
        "give exactly one judgement of the response: good, bad, a number from 0 to 1, --fix TEXT, "
        "--accept, --copied or --regenerated");
  }
  learning::v1::SubmitFeedbackRequest request;
  if (flags.fix) {
    request.set_edited_text(*flags.fix);
  } else if (flags.accept) {
    request.set_accepted(true);
  } else if (flags.copied) {
    request.set_copied(true);
  } else if (flags.regenerated) {
    request.set_regenerated(true);
  } else {
    const auto rating = ParseRating(flags.rating);
    if (!rating) {
      return UsageError(fmt::format("\"{}\" is not a rating; use good, bad or a number from 0 to 1",
                                    flags.rating));
    }
    request.set_rating(*rating);
  }
  for (const std::string& entry : flags.metadata) {
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return UsageError(fmt::format("--meta \"{}\" is not of the form NAME=VALUE", entry));
    }
    (*request.mutable_metadata())[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  request.set_idempotency_key(flags.id);
  request.set_response_id(flags.response);
  if (flags.response == "last") {
    ASSIGN_OR_RETURN(*request.mutable_response_id(), LoadLastResponse(context));
  }
  return request;
}

std::string Describe(const learning::v1::SubmitFeedbackResponse& response) {
  std::string text;
  if (response.session_lessons() > 0) {
    text += fmt::format("its session learned at {} positions\n", response.session_lessons());
  }
  if (!response.learned()) {
    text += Printable(response.explanation()) + "\n";
  } else {
    text += fmt::format(
        "learned in {:.1f} s: pattern {} -> adapter {}@{}\n"
        "held-out loss {:.3f} -> {:.3f} nats/token\n",
        SecondsOf(response.duration()), PrintableLine(response.pattern_id()),
        PrintableLine(response.adapter_name()), response.adapter_version(),
        response.held_out_loss_before(), response.held_out_loss_after());
  }
  if (!response.undo_token().empty()) {
    text += fmt::format("undo it with: ruvd undo {}\n", PrintableLine(response.undo_token()));
  }
  return text;
}

absl::Status Rate(CommandContext& context, const RateFlags& flags) {
  ASSIGN_OR_RETURN(const auto request, MakeRequest(context, flags));
  client::NodeClient client(context.server, context.credentials);
  ASSIGN_OR_RETURN(const auto response, client.Call<learning::v1::SubmitFeedbackResponse>(request));
  context.out << (context.json ? ToJsonLine(response) : Describe(response));
  return absl::OkStatus();
}

}  // namespace

void AddRateVerb(VerbTable& verbs) {
  auto flags = std::make_shared<RateFlags>();
  Verb verb = verbs.Add("rate", "Learning", "Rate or correct a completion; the node learns from it",
                        [flags](CommandContext& context) { return Rate(context, *flags); });
  verb.Option("response", flags->response, "Response id, or `last`").Required();
  verb.Option("rating", flags->rating, "good, bad or a number from 0 to 1");
  verb.Option("--fix", flags->fix, "Corrected text of the completion");
  verb.Switch("--accept", flags->accept, "The completion was accepted unchanged");
  verb.Switch("--copied", flags->copied,
              "The completion was copied; this counts less than an explicit rating");
  verb.Switch("--regenerated", flags->regenerated, "The user asked for another completion instead");
  verb.Option("--meta", flags->metadata,
              "NAME=VALUE to store with the completion; may be repeated");
  verb.Option("--id", flags->id, "Idempotency key: feedback with the same id is learned only once");
}

}  // namespace ruvd::cli
