# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The version of this package, which is the version of the node (node/version.h)."""

__version__ = "0.2.0"
