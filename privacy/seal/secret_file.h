// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::privacy {

// The whole of a small file that nobody but its owner may read: a key, a passphrase. What is
// checked is the file that is read, whatever its name stands for a moment later. The owner is this
// process's user or root. Group may read it only directly in $CREDENTIALS_DIRECTORY, where the
// service manager owns the files and lets the service's user in by an access list, which shows as
// the mode's group bits. `what` names the file in messages. FILE_NOT_FOUND, FILE_UNREADABLE,
// KEY_FILE_MODE, KEY_INVALID for one larger than kMaxKeyFileBytes. Wipe the result.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path, std::string_view what);

}  // namespace ruvd::privacy
