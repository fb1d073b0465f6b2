// After an action: a moment for what it sets off, and if that is a navigation, until the new page can be looked at. What a
// page does later (a request first, then a navigation) cannot be known; browser_wait_for is for that.

import { setTimeout as delay } from 'node:timers/promises';
import type { PageStack } from './page-stack.ts';

const MOMENT_MS = 50;
const LOAD_MS = 10_000;

/** Resolves when the current page is at rest, or when that takes too long. */
export async function settle(pages: PageStack, signal: AbortSignal): Promise<void> {
  await delay(MOMENT_MS, undefined, { signal });
  const deadline = performance.now() + LOAD_MS;
  while (pages.isMoving && performance.now() < deadline) await delay(20, undefined, { signal });
  const timeout = Math.max(1, deadline - performance.now());
  await pages.current?.waitForLoadState('domcontentloaded', { timeout, signal }).catch(() => {});
}
