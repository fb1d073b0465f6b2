// What a call waits for after its action. The pages are made up: how late the news of a closed page comes is a matter of load.

import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { PageStack } from '../../../../tool-servers/browser/pages/page-stack.ts';
import { settle } from '../../../../tool-servers/browser/pages/settle.ts';

const below = { waitForLoadState: async () => {} };
const page = { waitForLoadState: async () => {} };

/** Two pages, of which the one on top answers `closed`, and is gone after a while. */
function pagesWhere(answer: () => Promise<unknown>, goneAfterMs: number) {
  const pages = { isMoving: false, current: page, controlOf: async () => ({ send: answer }) };
  void delay(goneAfterMs, undefined, { ref: false }).then(() => {
    pages.current = below;
  });
  return pages;
}

const never = new AbortController().signal;

test('a page that closes itself is waited for until it is gone', async () => {
  const pages = pagesWhere(async () => ({ result: { value: true } }), 400);
  await settle(pages as unknown as PageStack, never);
  expect(pages.current).toBe(below);
});

test('a page that says nothing any more is given a while to be gone', async () => {
  const gone = pagesWhere(() => new Promise(() => {}), 400);
  await settle(gone as unknown as PageStack, never);
  expect(gone.current).toBe(below);
  const hanging = pagesWhere(() => new Promise(() => {}), 60_000);
  await settle(hanging as unknown as PageStack, never);
  expect(hanging.current).toBe(page);
});

test('a page that stays is not waited for', async () => {
  const pages = pagesWhere(async () => ({ result: { value: false } }), 1_000);
  await settle(pages as unknown as PageStack, never);
  expect(pages.current).toBe(page);
});
