// An agent that hangs in many conversations, next to other triggers: small new events still get through.

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

/** Number of deliveries that the gateway handles in parallel. */
const SLOTS = 16;

test('events of a hanging agent delay neither a schedule nor another trigger, and are handled later', async () => {
  let isHanging = true;
  const releases: (() => void)[] = [];
  const hanging = await startAgent(async () => {
    if (isHanging) await new Promise<void>((resolve) => releases.push(resolve));
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
    settings: { deliveries: { concurrency: SLOTS } },
  });
  const count = 20 * SLOTS;
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
  expect(hanging.requests.length).toBeLessThan(SLOTS);
  isHanging = false;
  for (const release of releases) release();
  await eventually(() => expect(hanging.requests.length).toBe(count));
  // The delay caused no second attempt.
  expect(new Set(hanging.requests.map(({ body }) => body.conversation)).size).toBe(count);
});
