// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

import type { CallOptions } from "@connectrpc/connect";

/**
 * Lists page after page: `for await (const page of pages(client.pattern.listPatterns, {}))`. The
 * filters of the request are equal for every page. Throws an Error if a page names itself as the
 * next one.
 */
export async function* pages<
  Request extends { pageToken?: string | undefined },
  Page extends { nextPageToken: string },
>(
  list: (request: Request, options?: CallOptions) => Promise<Page>,
  request: Request,
  options?: CallOptions,
): AsyncGenerator<Page, void, undefined> {
  let next = request;
  for (;;) {
    const page = await list(next, options);
    yield page;
    if (page.nextPageToken === "") {
      return;
    }
    if (page.nextPageToken === next.pageToken) {
      throw new Error(`the page ${page.nextPageToken} names itself as the next one; begin again`);
    }
    next = { ...request, pageToken: page.nextPageToken };
  }
}
