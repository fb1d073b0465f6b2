// Triggers that come and go on a few paths in any order, several at the same time: what each path answers is what the
// triggers that are open make of it, and no path is ever asked of the gateway twice.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SourceHost } from '../../../../../actors/platforms/adapter.ts';
import { loopbackOnly } from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type {
  Webhook,
  WebhookReply,
  WebhookRequest,
} from '../../../../../actors/platforms/webhooks/webhook.ts';
import {
  type PathUse,
  type WebhookSubscriber,
  WebhookTable,
} from '../../../../../actors/platforms/webhooks/webhook-table.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { httpTrigger } from '../../../../fixtures/automation/triggers.ts';

const names: PathUse<WebhookSubscriber> = {
  maxBodyBytes: 1,
  unauthorised: 'nobody may',
  receive: async ({ subscribers }): Promise<WebhookReply> => ({
    status: 200,
    body: subscribers.map(({ trigger }) => trigger.name).join(),
  }),
};

const asked: WebhookRequest = {
  method: 'POST',
  path: '/',
  query: '',
  headers: {},
  remoteAddress: '127.0.0.1',
  isBodyExact: true,
  requestId: 'r',
  traceparent: '',
  holdBody: () => () => {},
};

/** A gateway whose listeners take their time, and some of which cannot be opened. */
class SlowHost {
  readonly paths = new Map<string, Webhook>();
  wasTwice = false;
  failures = 0;

  async listen(webhook: Webhook): Promise<() => Promise<void>> {
    if (this.paths.has(webhook.path)) this.wasTwice = true;
    this.paths.set(webhook.path, webhook);
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failures > 0) {
      this.failures -= 1;
      this.paths.delete(webhook.path);
      throw new Error('cannot listen');
    }
    return async () => {
      await new Promise((resolve) => setImmediate(resolve));
      this.paths.delete(webhook.path);
    };
  }
}

const step = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  path: fc.constantFrom('/one', '/two'),
  /** Whether the next step waits until this one is done. */
  isAwaited: fc.boolean(),
  canFail: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

test('a path is what its open triggers make of it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.constantFrom(0, 1, 50),
      async (steps, lingerMs) => {
        const slow = new SlowHost();
        const { store, log } = new TestSourceHost();
        const host = {
          store,
          log,
          listen: (webhook: Webhook) => slow.listen(webhook),
        } as unknown as SourceHost;
        const table = new WebhookTable<WebhookSubscriber>(names, lingerMs);
        /** By name and path: what opens or closes it, one after the other as its supervisor does. */
        const turns = new Map<string, Promise<void>>();
        const open = new Map<string, () => Promise<void>>();
        const running: Promise<void>[] = [];
        for (const { name, path, isAwaited, canFail } of steps) {
          const key = `${path} ${name}`;
          const turn = (turns.get(key) ?? Promise.resolve()).then(async () => {
            const leave = open.get(key);
            if (leave !== undefined) {
              open.delete(key);
              await leave();
              return;
            }
            if (canFail) slow.failures = 1;
            const common = { host, methods: ['POST'], verifier: loopbackOnly };
            const member: WebhookSubscriber = { trigger: httpTrigger(name), ...common };
            await table.add(member, path).then(
              (given) => void open.set(key, given),
              () => {},
            );
          });
          turns.set(key, turn);
          running.push(turn);
          if (isAwaited) await turn;
        }
        await Promise.all(running);
        expect(slow.wasTwice).toBe(false);
        for (const path of ['/one', '/two']) {
          const expected = ['a', 'b', 'c'].filter((name) => open.has(`${path} ${name}`)).join();
          const webhook = slow.paths.get(path);
          if (expected === '') {
            if (webhook !== undefined) expect(webhook.admit(asked)).toMatchObject({ status: 503 });
          } else
            expect(await webhook?.receive(asked, Buffer.alloc(0))).toEqual({ status: 200, body: expected });
        }
        for (const leave of open.values()) await leave();
        await expect.poll(() => slow.paths.size, { interval: 2 }).toBe(0);
      },
    ),
    { numRuns: 100 },
  );
});
