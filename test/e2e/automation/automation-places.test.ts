// An agent that hangs, with many conversations, beside others: what is new and small gets through.

import { expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';

const PLACES = 16;

test('an agent that hangs leaves places for a schedule and for another trigger, and gets the rest of its events later', async () => {
  let isHanging = true;
  const free: (() => void)[] = [];
  const hanging = await startAgent(async () => {
    if (isHanging) await new Promise<void>((resolve) => free.push(resolve));
    return { text: '' };
  });
  const quick = await startAgent(() => ({ text: '' }));
  const hook = (name: string, agent: string, path: string) =>
    trigger(name, {
      type: 'HTTP',
      config: { path, webhook_secret: SECRET, key: 'body:of' },
      default_agent: agent,
    });
  const gateway = await startAutomation({
    resources: [
      hook('slow', 'hangs', '/hooks/slow'),
      hook('other', 'answers', '/hooks/other'),
      trigger('every-second', {
        type: 'Schedule',
        config: { cron: '* * * * * *' },
        default_agent: 'answers',
      }),
      httpAgent('hangs', hanging.url),
      httpAgent('answers', quick.url),
    ],
    settings: { deliveries: { concurrency: PLACES } },
  });
  const count = 20 * PLACES;
  const posts = Array.from({ length: count }, (_, n) =>
    postHook(gateway.url, '/hooks/slow', { of: `c${n}` }),
  );
  expect((await Promise.all(posts)).every(({ status }) => status === 202)).toBe(true);
  await eventually(() => expect(hanging.requests.length).toBeGreaterThan(0));
  const ticks = () => quick.requests.filter(({ body }) => body.event.id.startsWith('schedule:'));
  const before = ticks().length;
  await eventually(() => expect(ticks().length).toBeGreaterThan(before + 2));
  await postHook(gateway.url, '/hooks/other', { of: 'x' });
  await eventually(() =>
    expect(quick.requests.some(({ body }) => body.event.id.startsWith('http:other/'))).toBe(true),
  );
  expect(hanging.requests.length).toBeLessThan(PLACES);
  isHanging = false;
  for (const go of free) go();
  await eventually(() => expect(hanging.requests.length).toBe(count));
  // None was tried twice for having waited.
  expect(new Set(hanging.requests.map(({ body }) => body.conversation)).size).toBe(count);
});
