// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import type { Cell, DenoisingPlayer } from "./player.js";

const MASK = "\u2591"; // a light shade

/**
 * Shows a player below `parent`: the window, a button that plays and pauses, and a slider. A page
 * can style the classes `ruvd-player`, `ruvd-window`, `ruvd-mask`, `ruvd-new`, `ruvd-controls` and
 * `ruvd-state`. Returns a function that removes everything again.
 */
export function showPlayer(player: DenoisingPlayer, parent: HTMLElement): () => void {
  const { ownerDocument: page } = parent;
  const root = page.createElement("div");
  root.className = "ruvd-player";
  const text = page.createElement("div");
  text.className = "ruvd-window";
  text.style.whiteSpace = "pre-wrap";
  const controls = page.createElement("div");
  controls.className = "ruvd-controls";
  const button = page.createElement("button");
  button.type = "button";
  const slider = page.createElement("input");
  slider.type = "range";
  slider.min = "0";
  slider.step = "1";
  slider.setAttribute("aria-label", "Denoising step");
  const state = page.createElement("output");
  state.className = "ruvd-state";
  controls.append(button, slider, state);
  root.append(text, controls);
  parent.append(root);

  // The spans, with what each of them shows
  let spans: { element: HTMLElement; shown: string }[] = [];
  const show = (): void => {
    const { cells, frame, position } = player;
    if (cells.length !== spans.length) {
      spans = Array.from(cells, () => ({ element: page.createElement("span"), shown: "" }));
      text.replaceChildren(...spans.map((span) => span.element));
    }
    spans.forEach((span, index) => showCell(span, cells[index], position));
    button.textContent = player.isPlaying ? "Pause" : "Play";
    button.disabled = player.length === 0;
    slider.max = String(player.length);
    slider.value = String(position);
    state.textContent =
      frame === undefined
        ? `${cells.length} masks`
        : `step ${frame.step}, ${frame.masked} masks, entropy ${frame.meanEntropy.toFixed(2)}`;
  };
  const toggle = (): void => (player.isPlaying ? player.pause() : player.play());
  const scrub = (): void => {
    const position = Number(slider.value); // a pause would show the old one
    player.pause();
    player.seek(position);
  };
  button.addEventListener("click", toggle);
  slider.addEventListener("input", scrub);
  const unsubscribe = player.onChange(show);
  show();
  return () => {
    unsubscribe();
    button.removeEventListener("click", toggle);
    slider.removeEventListener("input", scrub);
    root.remove();
  };
}

// Touches the page only where something changed.
function showCell(
  span: { element: HTMLElement; shown: string },
  cell: Cell | undefined,
  position: number,
): void {
  const isNew = cell !== undefined && cell.frame === position && position > 0;
  const name = cell === undefined ? "ruvd-mask" : isNew ? "ruvd-new" : "";
  const shown = `${name}/${cell?.confidence}/${cell?.text}`;
  if (shown === span.shown) {
    return;
  }
  span.shown = shown;
  span.element.className = name;
  span.element.textContent = cell?.text ?? MASK;
  span.element.style.opacity = cell === undefined ? "0.35" : String(0.5 + cell.confidence / 2);
  span.element.style.fontWeight = isNew ? "bold" : "";
  span.element.title = cell === undefined ? "" : `${Math.round(cell.confidence * 100)} %`;
}
