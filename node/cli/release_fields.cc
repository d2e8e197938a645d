// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/release_fields.h"

#include <fmt/format.h>

#include "node/terminal/enum_name.h"
#include "node/terminal/terminal.h"

namespace ruvd::cli {

std::vector<std::pair<std::string, std::string>> ReleaseFields(
    const privacy::v1::ReleaseStatus& release) {
  if (release.noise_multiplier() == 0 && release.releases() == 0) {
    return {};
  }
  const std::string spent =
      release.unknown().empty()
          ? fmt::format("epsilon {:.3f} of {:.3f} at delta {:.1e} by {}, in {} release(s)",
                        release.spent_epsilon(), release.budget_epsilon(), release.delta(),
                        release.unit() == privacy::v1::PRIVACY_UNIT_NODE
                            ? "this node"
                            : "any one " + EnumName(release.unit()),
                        release.releases())
          : fmt::format("unknown: {} [{}]", PrintableLine(release.unknown()),
                        PrintableLine(release.unknown_reason()));
  std::vector<std::pair<std::string, std::string>> fields = {{"spent", spent}};
  if (release.sums()) {
    fields.emplace_back("epsilon holds",
                        "while at most a third of the members of a masked sum, rounded up, tell "
                        "each other their noise");
  }
  if (release.node_limit_epsilon() != 0) {
    fields.emplace_back(
        "spent by the node",
        fmt::format("epsilon {:.3f} of {:.3f} at delta {:.1e}, as if one unit had borne all "
                    "releases (privacy.node_epsilon)",
                    release.node_spent_epsilon(), release.node_limit_epsilon(), release.delta()));
  }
  return fields;
}

}  // namespace ruvd::cli
