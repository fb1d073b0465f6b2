// Triggers that open and close on a few paths in random order, sometimes concurrently: each path is served by
// the triggers that are open on it, and the gateway never gets two listeners for the same path.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TriggerHost } from '../../../../../actors/platforms/adapter.ts';
import { loopbackOnly } from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type {
  Webhook,
  WebhookReply,
  WebhookRequest,
} from '../../../../../actors/platforms/webhooks/webhook.ts';
import {
  type PathHandler,
  type WebhookSubscriber,
  WebhookTable,
} from '../../../../../actors/platforms/webhooks/webhook-table.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { httpTrigger } from '../../../../fixtures/automation/triggers.ts';

const triggerNames: PathHandler<WebhookSubscriber> = {
  maxBodyBytes: 1,
  unauthorisedText: 'no trigger accepts the request',
  receive: async ({ subscribers }): Promise<WebhookReply> => ({
    status: 200,
    body: subscribers.map(({ trigger }) => trigger.name).join(),
  }),
};

const request: WebhookRequest = {
  method: 'POST',
  path: '/',
  query: '',
  headers: {},
  remoteAddress: '127.0.0.1',
  isBodyExact: true,
  requestId: 'r',
  traceparent: '',
  reserveBody: () => () => {},
};

/** A gateway with slow listeners, which sometimes fail to open. */
class SlowHost {
  readonly paths = new Map<string, Webhook>();
  hadDuplicatePath = false;
  failures = 0;

  async listen(webhook: Webhook): Promise<() => Promise<void>> {
    if (this.paths.has(webhook.path)) this.hadDuplicatePath = true;
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
  /** True if the next step waits for this step. */
  isAwaited: fc.boolean(),
  canFail: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

test('a webhook path is served by its open triggers only', async () => {
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
        } as unknown as TriggerHost;
        const table = new WebhookTable<WebhookSubscriber>(triggerNames, lingerMs);
        /** Pending operations by path and name. They run in sequence, as in the supervisor. */
        const operations = new Map<string, Promise<void>>();
        const open = new Map<string, () => Promise<void>>();
        const running: Promise<void>[] = [];
        for (const { name, path, isAwaited, canFail } of steps) {
          const key = `${path} ${name}`;
          const turn = (operations.get(key) ?? Promise.resolve()).then(async () => {
            const close = open.get(key);
            if (close !== undefined) {
              open.delete(key);
              await close();
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
          operations.set(key, turn);
          running.push(turn);
          if (isAwaited) await turn;
        }
        await Promise.all(running);
        expect(slow.hadDuplicatePath).toBe(false);
        for (const path of ['/one', '/two']) {
          const expected = ['a', 'b', 'c'].filter((name) => open.has(`${path} ${name}`)).join();
          const webhook = slow.paths.get(path);
          if (expected === '') {
            if (webhook !== undefined) expect(webhook.admit(request)).toMatchObject({ status: 503 });
          } else
            expect(await webhook?.receive(request, Buffer.alloc(0))).toEqual({ status: 200, body: expected });
        }
        for (const close of open.values()) await close();
        await expect.poll(() => slow.paths.size, { interval: 2 }).toBe(0);
      },
    ),
    { numRuns: 100 },
  );
});
