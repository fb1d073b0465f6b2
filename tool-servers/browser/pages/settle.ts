// After an action: a moment for what it sets off, and if that is a navigation, until the new page can be looked at; if the
// page closes itself, until it is closed. What a page does later (a request first, then a navigation) cannot be known;
// browser_wait_for is for that.

import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { PageStack } from './page-stack.ts';

const MOMENT_MS = 50;
const LOAD_MS = 10_000;
/** Its scripts may have something to do before it goes; Chromium gives them about as long. */
const CLOSING_MS = 1_500;

/** Resolves when the current page is at rest, or when that takes too long. */
export async function settle(pages: PageStack, signal: AbortSignal): Promise<void> {
  await delay(MOMENT_MS, undefined, { signal });
  const deadline = performance.now() + LOAD_MS;
  while (pages.isMoving && performance.now() < deadline) await delay(20, undefined, { signal });
  if (pages.current !== undefined) await untilClosed(pages, pages.current, signal);
  const timeout = Math.max(1, deadline - performance.now());
  await pages.current?.waitForLoadState('domcontentloaded', { timeout, signal }).catch(() => {});
}

/**
 * A page that closes itself is still there for a while: it says so itself, or says nothing any more. One that lies, or is
 * busy, costs CLOSING_MS.
 */
async function untilClosed(pages: PageStack, page: Page, signal: AbortSignal): Promise<void> {
  const asked = performance.now();
  let isStaying = false;
  pages
    .controlOf(page)
    .then((control) => control.send('Runtime.evaluate', { expression: 'window.closed' }))
    .then(
      ({ result }) => {
        isStaying = result.value !== true;
      },
      () => {},
    );
  while (!isStaying && pages.current === page && performance.now() - asked < CLOSING_MS)
    await delay(5, undefined, { signal });
}
