// The table of webhook paths (webhook-table.ts). Triggers open and close on two paths in random order,
// sometimes concurrently. Each path is served by the triggers that are open on it, and never has two
// listeners.

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

/** Responds with the names of the triggers that receive the request. */
const namesHandler: PathHandler<WebhookSubscriber> = {
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
  /** Open webhooks by path. */
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

/** Opens a trigger on a path, or closes it if it is open. */
const step = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  path: fc.constantFrom('/one', '/two'),
  /** True if the next step depends on this step. */
  isAwaited: fc.boolean(),
  /** True if the path cannot be opened. */
  fails: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

test('a webhook path is served by its open triggers only', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.constantFrom(0, 1, 50),
      async (steps, lingerMs) => {
        const slowHost = new SlowHost();
        const { store, log } = new TestSourceHost();
        const host = {
          store,
          log,
          listen: (webhook: Webhook) => slowHost.listen(webhook),
        } as unknown as TriggerHost;
        const table = new WebhookTable<WebhookSubscriber>(namesHandler, lingerMs);
        /**
         * Pending operations by path and name. They run in sequence: the supervisor of triggers does so too.
         */
        const operations = new Map<string, Promise<void>>();
        /** Close functions of the open triggers, by path and name. */
        const open = new Map<string, () => Promise<void>>();
        const running: Promise<void>[] = [];
        for (const { name, path, isAwaited, fails } of steps) {
          const key = `${path} ${name}`;
          const operation = (operations.get(key) ?? Promise.resolve()).then(async () => {
            const close = open.get(key);
            if (close !== undefined) {
              open.delete(key);
              await close();
              return;
            }
            if (fails) slowHost.failures = 1;
            const common = { host, methods: ['POST'], verifier: loopbackOnly };
            const member: WebhookSubscriber = { trigger: httpTrigger(name), ...common };
            await table.add(member, path).then(
              (closeTrigger) => void open.set(key, closeTrigger),
              () => {},
            );
          });
          operations.set(key, operation);
          running.push(operation);
          if (isAwaited) await operation;
        }
        await Promise.all(running);
        expect(slowHost.hadDuplicatePath).toBe(false);
        for (const path of ['/one', '/two']) {
          const expected = ['a', 'b', 'c'].filter((name) => open.has(`${path} ${name}`)).join();
          const webhook = slowHost.paths.get(path);
          if (expected === '') {
            // A path without triggers is removed later (`lingerMs`). Meanwhile it responds with 503.
            if (webhook !== undefined) expect(webhook.admit(request)).toMatchObject({ status: 503 });
          } else
            expect(await webhook?.receive(request, Buffer.alloc(0))).toEqual({ status: 200, body: expected });
        }
        for (const close of open.values()) await close();
        await expect.poll(() => slowHost.paths.size, { interval: 2 }).toBe(0);
      },
    ),
    { numRuns: 100 },
  );
});
