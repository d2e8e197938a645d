// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

/** A token that got its place. */
export interface PlayerCommit {
  /** Offset from the first generated position */
  readonly position: number;
  readonly text: string;
  /** From 0 to 1; 1 if not set */
  readonly confidence?: number | undefined;
}

/** What a denoising step changed. A DenoiseFrame of the API is one. */
export interface PlayerFrame {
  readonly step: number;
  /** Masked share of the active window before this step */
  readonly t: number;
  readonly masked: number;
  /** In nats */
  readonly meanEntropy: number;
  readonly commits: readonly PlayerCommit[];
  /** Positions that became masks again after the commits */
  readonly remasked?: readonly number[] | undefined;
}

/** What is known before the first step. A Started of the API is one. */
export interface PlayerStart {
  /** Number of positions */
  readonly window: number;
  /** Tokens that no frame commits */
  readonly given?: readonly PlayerCommit[] | undefined;
}

/** The token at a position. */
export interface Cell {
  readonly text: string;
  readonly confidence: number;
  /** Number of the frame that committed it, from 1; 0 for a given token */
  readonly frame: number;
}

export interface PlayerOptions {
  /** For tests: calls a function later, and returns what `cancel` takes. */
  later?: ((call: () => void, ms: number) => unknown) | undefined;
  cancel?: ((timer: unknown) => void) | undefined;
}

const MASK = "\u2591"; // a light shade

/**
 * Keeps the frames of a completion and the text of its window after each of them. Position 0 is the
 * window before the first frame, and position n the one after frame n. A player at its end follows
 * new frames.
 */
export class DenoisingPlayer {
  readonly #listeners = new Set<() => void>();
  readonly #later: (call: () => void, ms: number) => unknown;
  readonly #cancel: (timer: unknown) => void;
  #start: PlayerStart = { window: 0 };
  #frames: PlayerFrame[] = [];
  #cells: (Cell | undefined)[] = [];
  #position = 0;
  #timer: unknown;

  constructor(options: PlayerOptions = {}) {
    this.#later = options.later ?? ((call, ms) => setTimeout(call, ms));
    this.#cancel =
      options.cancel ?? ((timer) => clearTimeout(timer as ReturnType<typeof setTimeout>));
  }

  /** Begins with an empty window and forgets the frames of an earlier completion. */
  start(started: PlayerStart): void {
    this.#stopTimer();
    this.#start = started;
    this.#frames = [];
    this.#position = 0;
    this.#cells = this.#replayed(0);
    this.#tell();
  }

  /** Adds the next frame. Commits outside the window are left out. */
  add(frame: PlayerFrame): void {
    const follows = this.isAtEnd && !this.isPlaying;
    this.#frames.push(frame);
    if (follows) {
      this.#forwardTo(this.#frames.length);
    }
    this.#tell();
  }

  /** Number of frames */
  get length(): number {
    return this.#frames.length;
  }

  /** Number of frames that the shown window contains */
  get position(): number {
    return this.#position;
  }

  get isAtEnd(): boolean {
    return this.#position === this.#frames.length;
  }

  get isPlaying(): boolean {
    return this.#timer !== undefined;
  }

  /** The frame that came last; undefined at position 0 */
  get frame(): PlayerFrame | undefined {
    return this.#frames[this.#position - 1];
  }

  /** The window, with undefined for each mask. A later change does not change this array. */
  get cells(): readonly (Cell | undefined)[] {
    return this.#cells;
  }

  /** Returns the text of the window, with `mask` for each position that has no token. */
  text(mask: string = MASK): string {
    return textOf(this.#cells, mask);
  }

  /** Returns the text that the window had at a position, without moving there. */
  textAt(position: number, mask: string = MASK): string {
    return textOf(this.#replayed(this.#clamped(position)), mask);
  }

  /** Shows the window at a position between 0 and `length`. A player that plays goes on there. */
  seek(position: number): void {
    const target = this.#clamped(position);
    if (target < this.#position) {
      this.#cells = this.#replayed(target);
      this.#position = target;
    } else {
      this.#forwardTo(target);
    }
    this.#tell();
  }

  /** Shows frame after frame until the end; a player at its end begins at the beginning. */
  play(framesPerSecond = 12): void {
    if (!(framesPerSecond > 0)) {
      throw new RangeError(`framesPerSecond is ${framesPerSecond}; give a number above 0`);
    }
    this.#stopTimer();
    if (this.isAtEnd) {
      this.seek(0);
    }
    this.#schedule(1000 / framesPerSecond);
    this.#tell();
  }

  pause(): void {
    this.#stopTimer();
    this.#tell();
  }

  /** Calls `listener` after each change, and returns a function that ends this. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #schedule(ms: number): void {
    this.#timer = this.#later(() => {
      this.#timer = undefined;
      this.#forwardTo(Math.min(this.#position + 1, this.#frames.length));
      if (!this.isAtEnd) {
        this.#schedule(ms);
      }
      this.#tell();
    }, ms);
  }

  #stopTimer(): void {
    if (this.#timer !== undefined) {
      this.#cancel(this.#timer);
      this.#timer = undefined;
    }
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) {
      listener();
    }
  }

  #clamped(position: number): number {
    const whole = Math.trunc(position);
    return Number.isNaN(whole) ? 0 : Math.min(Math.max(whole, 0), this.#frames.length);
  }

  #forwardTo(position: number): void {
    if (position === this.#position) {
      return;
    }
    const cells = this.#cells.slice();
    while (this.#position < position) {
      apply(cells, this.#frames[this.#position], ++this.#position);
    }
    this.#cells = cells;
  }

  #replayed(position: number): (Cell | undefined)[] {
    const cells = new Array<Cell | undefined>(this.#start.window).fill(undefined);
    put(cells, this.#start.given, 0);
    for (let i = 0; i < position; ++i) {
      apply(cells, this.#frames[i], i + 1);
    }
    return cells;
  }
}

function apply(cells: (Cell | undefined)[], frame: PlayerFrame | undefined, number: number): void {
  put(cells, frame?.commits, number);
  for (const position of frame?.remasked ?? []) {
    if (position < cells.length) {
      cells[position] = undefined;
    }
  }
}

function put(
  cells: (Cell | undefined)[],
  commits: readonly PlayerCommit[] | undefined,
  frame: number,
): void {
  for (const { position, text, confidence = 1 } of commits ?? []) {
    if (position < cells.length) {
      cells[position] = { text, confidence, frame };
    }
  }
}

function textOf(cells: readonly (Cell | undefined)[], mask: string): string {
  return cells.map((cell) => cell?.text ?? mask).join("");
}
