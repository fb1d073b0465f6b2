// A gateway is suspended beyond its membership lease: other gateways take over, and the resumed gateway does
// not continue old work.

import { setTimeout as elapse } from 'node:timers/promises';
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
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

const CONVERSATIONS = 24;
const SUSPENDED_MS = 6_000;

interface SeenEvent {
  readonly conversation: number;
  readonly number: number;
}

test('the order per conversation survives a gateway process that is suspended for 6 s', async () => {
  const requests: SeenEvent[] = [];
  const program = await startAgent(async ({ body }) => {
    requests.push(body.event.payload as unknown as SeenEvent);
    await elapse(20 + Math.random() * 60);
    return { text: 'seen' };
  });
  const url = await newDatabase();
  const resources = [
    trigger('desk', {
      type: 'HTTP',
      config: { path: '/hooks/desk', webhook_secret: SECRET, key: 'body:conversation' },
      default_agent: 'desk',
    }),
    httpAgent('desk', program.url),
  ];
  const start = (name: string) =>
    startAutomation({ resources, settings: { store: { postgres: { url } }, node: { name } } });
  const [one, two] = await Promise.all([start('one'), start('two')]);

  let isPosting = true;
  const posted: string[] = [];
  // Sent to the other gateway. Only acknowledged events count, and the suspended gateway cannot acknowledge
  // any.
  const post = async (conversation: number) => {
    for (let number = 1; isPosting; number += 1) {
      const id = `${conversation}-${number}`;
      const { status } = await postHook(
        two.url,
        '/hooks/desk',
        { conversation, number },
        { 'idempotency-key': id },
      );
      expect(status).toBe(202);
      posted.push(id);
      await elapse(60);
    }
  };
  const posting = Promise.all(Array.from({ length: CONVERSATIONS }, (_, conversation) => post(conversation)));
  await elapse(1_500);
  process.kill(one.pid, 'SIGSTOP');
  await elapse(SUSPENDED_MS);
  const before = requests.length;
  process.kill(one.pid, 'SIGCONT');
  await elapse(2_000);
  isPosting = false;
  await posting;

  const idOf = ({ conversation, number }: SeenEvent) => `${conversation}-${number}`;
  await eventually(() => expect(new Set(requests.map(idOf)).size).toBe(posted.length), 60_000);
  expect(before).toBeGreaterThan(0);
  // The resumed gateway has rejoined and works.
  await eventually(() =>
    expect(one.logs().filter(({ msg }) => msg === 'joined the cluster').length).toBeGreaterThan(1),
  );
  const newest = new Map<number, number>();
  const older: string[] = [];
  for (const each of requests) {
    const last = newest.get(each.conversation) ?? 0;
    if (each.number < last) older.push(`${idOf(each)} after ${last}`);
    else newest.set(each.conversation, each.number);
  }
  expect(older).toEqual([]);
  await Promise.all([one.stop(), two.stop()]);
});
