// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ruvd privacy preview`: shows what the node would send next, before it is sent.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "node/api_limits.h"
#include "node/cli/release_fields.h"
#include "node/cli/sharing_tier.h"
#include "node/cli/verbs.h"
#include "node/client/client.h"
#include "node/terminal/command.h"
#include "node/terminal/enum_name.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::cli {
namespace {

constexpr char kPreviewGroup[] = "Privacy";
constexpr size_t kBytesPerPreviewLine = 32;

std::string HexLines(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), kBytesPerPreviewLine);
    text.append(ToHex(AsBytes(bytes.substr(0, count)))).append("\n");
    bytes.remove_prefix(count);
  }
  return text;
}

std::string WhatIsClipped(const privacy::v1::ReleaseStatus& release) {
  return release.unit() == privacy::v1::PRIVACY_UNIT_NODE ? "together"
                                                          : "each " + EnumName(release.unit());
}

// Describes the next noised contribution, as far as it exists before noise is drawn.
std::string NoisedText(const privacy::v1::PreviewReleaseResponse& preview) {
  const privacy::v1::ReleaseStatus& release = preview.release();
  return fmt::format(
             "\n"
             "{} values: the sum of the gradients of a secret sample of the lessons, "
             "{} clipped to {:g}, with noise of standard deviation {:.3g} on each value. They "
             "are not shown because they do not exist yet: drawing noise for a preview would be "
             "another release of the same lessons and would cost epsilon. Nothing was charged for "
             "this preview.\n"
             "payload: {} bytes, namely the bytes below and {} bytes of values (twice as many if a "
             "value does not fit two bytes), in an envelope with the node's certificate and "
             "signature\n",
             preview.values(), WhatIsClipped(release), release.clip_norm(),
             release.noise_multiplier() * release.clip_norm(),
             preview.head().size() + preview.value_bytes(), preview.value_bytes()) +
         HexLines(preview.head());
}

// Describes the next share of a masked sum.
std::string MaskedText(const privacy::v1::PreviewReleaseResponse& preview) {
  const privacy::v1::ReleaseStatus& release = preview.release();
  return fmt::format(
      "\n"
      "a share of {} bytes in a masked sum: the sum of the gradients of a secret sample of the "
      "lessons, {} clipped to {:g}, with this node's part of the noise, under masks that "
      "cancel only in the sum over {} to {} nodes. Other nodes see only that sum, with noise of "
      "standard deviation {:.3g} or more on each value; a fresh key and the names of the "
      "participants are sent before it. Masks and noise do not exist yet. Nothing was charged for "
      "this preview; every share is charged, even if its sum is never completed\n",
      preview.value_bytes(), WhatIsClipped(release), release.clip_norm(), limits::kMinMaskedNodes,
      limits::kMaxMaskedNodes, release.noise_multiplier() * release.clip_norm());
}

// Shows the plain payloads as they would be sent.
std::string PlainText(const privacy::v1::PreviewReleaseResponse& preview) {
  std::string text;
  for (const std::string& payload : preview.payloads()) {
    text += fmt::format("\npayload of {} bytes, SHA-256 {}\n{}", payload.size(),
                        ToHex(Sha256(std::string_view(payload))), HexLines(payload));
  }
  if (preview.more_payloads() > 0) {
    text += fmt::format("\n{} more payloads are not shown\n", preview.more_payloads());
  }
  return text;
}

absl::Status Preview(CommandContext& context, const std::string& tier) {
  privacy::v1::PreviewReleaseRequest request;
  if (!tier.empty()) {
    request.set_tier(*ParseTier(tier));
  }
  ASSIGN_OR_RETURN(const auto preview, client::NodeClient(context.server, context.credentials)
                                           .Call<privacy::v1::PreviewReleaseResponse>(request));
  if (context.json) {
    context.out << ToJsonLine(preview);
    return absl::OkStatus();
  }
  const bool masked = preview.tier() == privacy::v1::SHARING_TIER_MASKED;
  const bool noised = masked || preview.tier() == privacy::v1::SHARING_TIER_DP;
  std::vector<std::pair<std::string, std::string>> fields = {
      {"tier", TierLabel(preview.tier())},
      {"would leave", preview.refusal().empty()
                          ? "yes"
                          : fmt::format("no: {} [{}]", PrintableLine(preview.refusal()),
                                        PrintableLine(preview.refusal_reason()))},
      {"made of", fmt::format("{} lesson(s) of {} user(s) and sessions", preview.lessons(),
                              preview.contributors())}};
  if (noised && preview.has_release()) {
    fields.emplace_back("scope", PrintableLine(preview.release().scope()));
    for (auto& field : ReleaseFields(preview.release())) {
      fields.push_back(std::move(field));
    }
  }
  context.out << FormatFields(fields);
  if (preview.value_bytes() > 0) {
    context.out << (masked ? MaskedText(preview) : NoisedText(preview));
  }
  context.out << PlainText(preview);
  return absl::OkStatus();
}

}  // namespace

void AddPreviewVerb(VerbTable& verbs) {
  auto tier = std::make_shared<std::string>();
  verbs
      .Add("privacy preview", kPreviewGroup,
           "Show what a running node would send next, without charging or sending it",
           [tier](CommandContext& context) { return Preview(context, *tier); })
      .Option("--tier", *tier, "Preview as if this tier were granted; default: the granted tier")
      .OneOf({"private", "masked", "dp", "public"});
}

}  // namespace ruvd::cli
