// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { DenoisingPlayer, showPlayer } from "../src/player/index.js";

// As much of a page's element as the view needs
class FakeElement extends EventTarget {
  className = "";
  textContent = "";
  disabled = false;
  max = "";
  value = "";
  title = "";
  readonly style: Record<string, string> = {};
  readonly attributes = new Map<string, string>();
  readonly ownerDocument = { createElement: (name: string) => new FakeElement(name) };
  children: FakeElement[] = [];
  parent: FakeElement | undefined;

  constructor(readonly name: string) {
    super();
  }
  append(...children: FakeElement[]): void {
    this.children.push(...children);
    children.forEach((child) => (child.parent = this));
  }
  replaceChildren(...children: FakeElement[]): void {
    this.children = [];
    this.append(...children);
  }
  remove(): void {
    const { parent } = this;
    if (parent !== undefined) {
      parent.children = parent.children.filter((child) => child !== this);
    }
  }
  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }
  find(name: string): FakeElement {
    const found = this.all().find((element) => element.name === name || element.className === name);
    assert.ok(found, `no ${name}`);
    return found;
  }
  all(): FakeElement[] {
    return [this, ...this.children.flatMap((child) => child.all())];
  }
}

test("the view shows the window, scrubs and plays", () => {
  const parent = new FakeElement("main");
  const player = new DenoisingPlayer({ later: () => 1, cancel: () => undefined });
  const remove = showPlayer(player, parent as unknown as HTMLElement);
  const [button, slider] = [parent.find("button"), parent.find("input")];
  assert.equal(button.disabled, true);

  player.start({ window: 2 });
  const commits = [{ position: 1, text: "<b>boat</b>", confidence: 0.75 }];
  player.add({ step: 3, t: 1, masked: 1, meanEntropy: 0.5, commits });
  const spans = parent.find("ruvd-window").children;
  assert.deepEqual(
    spans.map((span) => [span.className, span.textContent, span.title]),
    [
      ["ruvd-mask", "\u2591", ""],
      ["ruvd-new", "<b>boat</b>", "75 %"],
    ],
  );
  assert.equal(parent.find("ruvd-state").textContent, "step 3, 1 masks, entropy 0.50");
  assert.deepEqual([slider.max, slider.value, button.textContent], ["1", "1", "Play"]);

  slider.value = "0";
  slider.dispatchEvent(new Event("input"));
  assert.equal(player.position, 0);
  assert.deepEqual(spans.map((span) => span.textContent), ["\u2591", "\u2591"]);
  assert.equal(spans, parent.find("ruvd-window").children);
  button.dispatchEvent(new Event("click"));
  assert.equal(player.isPlaying, true);
  assert.equal(button.textContent, "Pause");
  button.dispatchEvent(new Event("click"));
  assert.equal(player.isPlaying, false);

  remove();
  assert.equal(parent.children.length, 0);
  player.seek(1);
  assert.equal(slider.value, "0");
});
