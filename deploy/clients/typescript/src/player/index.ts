// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

export {
  type Cell,
  DenoisingPlayer,
  type PlayerCommit,
  type PlayerFrame,
  type PlayerOptions,
  type PlayerStart,
} from "./player.js";
export { showPlayer } from "./view.js";
