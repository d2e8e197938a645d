// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::privacy {

// Returns the contents of a small file that only its owner may read, such as a key or a passphrase.
// The checks apply to the open file, so that replacing its name meanwhile has no effect. The owner
// must be this process's user or root. The group may read a file only if it lies directly in
// $CREDENTIALS_DIRECTORY: there the service manager owns the files and admits the service's user by
// an access list, which appears as the mode's group bits. `what` names the file in messages. Fails
// with FILE_NOT_FOUND, FILE_UNREADABLE, KEY_FILE_MODE, or KEY_INVALID for a file larger than
// kMaxKeyFileBytes. The caller must wipe the result.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path, std::string_view what);

}  // namespace ruvd::privacy
