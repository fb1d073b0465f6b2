// The pause after an action, until the page is stable. Pages are simulated, because the delay of a close
// event depends on the load.

import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { waitForEffects } from '../../../../tool-servers/browser/pages/settle.ts';
import type { PageStack } from '../../../../tool-servers/browser/pages/stack.ts';

const lowerPage = { waitForLoadState: async () => {} };
const page = { waitForLoadState: async () => {} };

/** Creates two pages. The top page responds with `answer` and closes after a delay. */
function pagesWith(answer: () => Promise<unknown>, goneAfterMs: number) {
  const pages = { isMoving: false, current: page, controlOf: async () => ({ send: answer }) };
  void delay(goneAfterMs, undefined, { ref: false }).then(() => {
    pages.current = lowerPage;
  });
  return pages;
}

const neverAborted = new AbortController().signal;

test('after an action, the browser server waits until a page that closes itself is gone', async () => {
  const pages = pagesWith(async () => ({ result: { value: true } }), 400);
  await waitForEffects(pages as unknown as PageStack, neverAborted);
  expect(pages.current).toBe(lowerPage);
});

test('after an action, the browser server waits for an unresponsive page only for a limited time', async () => {
  const closing = pagesWith(() => new Promise(() => {}), 400);
  await waitForEffects(closing as unknown as PageStack, neverAborted);
  expect(closing.current).toBe(lowerPage);
  const hanging = pagesWith(() => new Promise(() => {}), 60_000);
  await waitForEffects(hanging as unknown as PageStack, neverAborted);
  expect(hanging.current).toBe(page);
});

test('after an action, the browser server does not wait for a page that stays open', async () => {
  const pages = pagesWith(async () => ({ result: { value: false } }), 1_000);
  await waitForEffects(pages as unknown as PageStack, neverAborted);
  expect(pages.current).toBe(page);
});
