// A gateway of several that stands still for longer than its membership, and goes on: what it was doing has been taken on by others, and it
// does nothing of it any more.

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
const STANDS_STILL_MS = 6_000;

interface Seen {
  readonly conversation: number;
  readonly number: number;
}

test('per conversation nothing is seen after a later one when a gateway stands still for 6 s and goes on (DI6)', async () => {
  const seen: Seen[] = [];
  const program = await startAgent(async ({ body }) => {
    seen.push(body.event.payload as unknown as Seen);
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
  // By the other one: what is acknowledged is counted, and the one that stands still cannot acknowledge.
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
  await elapse(STANDS_STILL_MS);
  const before = seen.length;
  process.kill(one.pid, 'SIGCONT');
  await elapse(2_000);
  isPosting = false;
  await posting;

  const idOf = ({ conversation, number }: Seen) => `${conversation}-${number}`;
  await eventually(() => expect(new Set(seen.map(idOf)).size).toBe(posted.length), 60_000);
  expect(before).toBeGreaterThan(0);
  // The one that came back is a member again, and works.
  await eventually(() =>
    expect(one.logs().filter(({ msg }) => msg === 'this node works on the database').length).toBeGreaterThan(
      1,
    ),
  );
  const newest = new Map<number, number>();
  const older: string[] = [];
  for (const each of seen) {
    const last = newest.get(each.conversation) ?? 0;
    if (each.number < last) older.push(`${idOf(each)} after ${last}`);
    else newest.set(each.conversation, each.number);
  }
  expect(older).toEqual([]);
  await Promise.all([one.stop(), two.stop()]);
});
