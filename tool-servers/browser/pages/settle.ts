// Blocks after an action until its immediate effects are complete: a navigation, or a page that closes
// itself. Later effects, such as a navigation after a request, cannot be predicted; models use
// browser_wait_for.

import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { PageStack } from './stack.ts';

/** Time until an effect has started. */
const EFFECT_START_MS = 50;
const LOAD_MS = 10_000;
/** Maximum run time for scripts in a closing page; Chromium's own limit is similar. */
const CLOSING_MS = 1_500;

/** Resolves when the current page is usable, or after LOAD_MS. */
export async function waitForEffects(pages: PageStack, signal: AbortSignal): Promise<void> {
  await delay(EFFECT_START_MS, undefined, { signal });
  const deadline = performance.now() + LOAD_MS;
  while (pages.isMoving && performance.now() < deadline) await delay(20, undefined, { signal });
  if (pages.current !== undefined) await waitForClose(pages, pages.current, signal);
  const timeout = Math.max(1, deadline - performance.now());
  await pages.current?.waitForLoadState('domcontentloaded', { timeout, signal }).catch(() => {});
}

/**
 * Resolves when the page is removed or known to stay open. A closing page reports `window.closed`, or does
 * not respond. A busy page looks the same, and delays the call by CLOSING_MS.
 */
async function waitForClose(pages: PageStack, page: Page, signal: AbortSignal): Promise<void> {
  const startedAt = performance.now();
  let isOpen = false;
  pages
    .controlOf(page)
    .then((control) => control.send('Runtime.evaluate', { expression: 'window.closed' }))
    .then(
      ({ result }) => {
        isOpen = result.value !== true;
      },
      () => {},
    );
  while (!isOpen && pages.current === page && performance.now() - startedAt < CLOSING_MS)
    await delay(5, undefined, { signal });
}
