// Signed requests at webhooks. A request is rejected if one byte of the body, the signature or another signed
// part is changed, and accepted if it is unchanged. Third-party libraries make the signatures.

import { sign } from '@octokit/webhooks-methods';
import fc from 'fast-check';
import { Webhook as StandardSigner } from 'standardwebhooks';
import nacl from 'tweetnacl';
import { beforeEach, expect, test } from 'vitest';
import type { TriggerHost } from '../../../../actors/platforms/adapter.ts';
import { communityChatAdapter } from '../../../../actors/platforms/communitychat/adapter.ts';
import { httpAdapter } from '../../../../actors/platforms/http/adapter.ts';
import { repoHostAdapter } from '../../../../actors/platforms/repository-hosts/repohost/adapter.ts';
import type { Webhook, WebhookReply } from '../../../../actors/platforms/webhooks/webhook.ts';
import { adapterServices } from '../../../fixtures/automation/adapter-services.ts';
import { repoExamples } from '../../../fixtures/automation/repo-payloads.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { communityChatTrigger, httpTrigger, repoHostTrigger } from '../../../fixtures/automation/triggers.ts';
import { runs } from '../../../fixtures/property-runs.ts';

const SECRET = 'a secret of the tests';
const STANDARD_SECRET = `whsec_${Buffer.from('twenty-four bytes of key').toString('base64')}`;

let host: TestSourceHost;
let webhook: Webhook;
let triggerHost: TriggerHost;

beforeEach(() => {
  host = new TestSourceHost();
  triggerHost = {
    store: host.store,
    log: host.log,
    accept: (event) => host.accept(event),
    waitUntilSettled: (trigger, id, timeoutMs) => host.waitUntilSettled(trigger, id, timeoutMs),
    discard: async () => false,
    undeliver: async () => [],
    listen: async (handler) => {
      webhook = handler;
      return async () => {};
    },
    connections: host.connections,
  };
});

/** Sends a request to the webhook of the trigger. */
async function receive(headers: Record<string, string>, body: Buffer): Promise<WebhookReply> {
  const request = {
    method: 'POST',
    path: webhook.path,
    query: '',
    headers,
    remoteAddress: '127.0.0.1',
    isBodyExact: true,
    requestId: 'r',
    traceparent: '',
    reserveBody: () => () => {},
  };
  return webhook.admit(request) ?? webhook.receive(request, body);
}

/** Replaces, removes or adds one byte. */
const arbChange = fc.record({
  position: fc.nat(),
  kind: fc.constantFrom('flip', 'drop', 'add'),
  /** The added byte, or the bits that `flip` inverts. */
  bits: fc.integer({ min: 1, max: 255 }),
});
type Change = typeof arbChange extends fc.Arbitrary<infer T> ? T : never;

function changeByte(bytes: Buffer, { position, kind, bits }: Change): Buffer {
  const at = position % bytes.length;
  const before = bytes.subarray(0, at);
  if (kind === 'drop') return Buffer.concat([before, bytes.subarray(at + 1)]);
  if (kind === 'add') return Buffer.concat([before, Buffer.from([bits]), bytes.subarray(at)]);
  return Buffer.concat([before, Buffer.from([(bytes[at] ?? 0) ^ bits]), bytes.subarray(at + 1)]);
}

test('a repository host trigger rejects a delivery with a changed byte', async () => {
  await repoHostAdapter({ maxBodyBytes: 1_000_000 }).open(repoHostTrigger('reviews'), triggerHost);
  const example = fc.constantFrom(...repoExamples);
  await fc.assert(
    fc.asyncProperty(
      example,
      fc.boolean(),
      arbChange,
      fc.boolean(),
      async ({ event, payload }, isForm, change, changesBody) => {
        const json = JSON.stringify(payload);
        const body = Buffer.from(isForm ? new URLSearchParams({ payload: json }).toString() : json);
        const signature = await sign(SECRET, body.toString());
        const headers = {
          'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
          'x-github-event': event,
          'x-github-delivery': 'd',
          'x-hub-signature-256': signature,
        };
        const count = host.store.events.length;
        const forged = changeByte(Buffer.from(signature), change).toString('latin1');
        // Upper and lower case are equal in hexadecimal.
        if (!changesBody && forged.toLowerCase() === signature) return;
        const refused = changesBody
          ? await receive(headers, changeByte(body, change))
          : await receive({ ...headers, 'x-hub-signature-256': forged }, body);
        expect(refused.status).toBe(401);
        expect(host.store.events.length).toBe(count);
        expect([200, 202]).toContain((await receive(headers, body)).status);
      },
    ),
    { numRuns: runs(300) },
  );
});

test('an HTTP trigger rejects a Standard Webhooks delivery with a changed byte', async () => {
  const trigger = httpTrigger('events', { webhook_secret: STANDARD_SECRET, scheme: 'standard' });
  await httpAdapter(1_000_000).open(trigger, triggerHost);
  const part = fc.constantFrom('body', 'webhook-id', 'webhook-timestamp', 'webhook-signature');
  await fc.assert(
    fc.asyncProperty(fc.json(), fc.uuid(), part, arbChange, async (text, id, changedPart, change) => {
      const body = Buffer.from(text);
      const now = new Date();
      const headers: Record<string, string> = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': new StandardSigner(STANDARD_SECRET).sign(id, now, text),
      };
      const forged = { ...headers };
      if (changedPart !== 'body')
        forged[changedPart] = changeByte(Buffer.from(headers[changedPart] ?? ''), change).toString('latin1');
      const isSameSignature =
        changedPart === 'webhook-signature' &&
        isSameBase64(forged[changedPart] ?? '', headers[changedPart] ?? '');
      const refused = await receive(forged, changedPart === 'body' ? changeByte(body, change) : body);
      if (!isSameSignature) expect(refused.status).toBe(401);
      expect([200, 202]).toContain((await receive(headers, body)).status);
    }),
    { numRuns: runs(500) },
  );
});

/**
 * Returns true if two signatures are equal after decoding. Different base64 texts can encode the same bytes:
 * the last letter has unused bits; some decoders accept two alphabets.
 */
function isSameBase64(a: string, b: string): boolean {
  return a
    .split(' ')
    .some(
      (each) =>
        each.startsWith('v1,') &&
        each.length === b.length &&
        Buffer.from(each.slice(3), 'base64').equals(Buffer.from(b.slice(3), 'base64')),
    );
}

test('a community chat trigger rejects an interaction with a changed byte', async () => {
  const keys = nacl.sign.keyPair();
  const public_key = Buffer.from(keys.publicKey).toString('hex');
  await communityChatAdapter(adapterServices()).open(
    communityChatTrigger('chat', { public_key, register: 'never' }),
    triggerHost,
  );
  const part = fc.constantFrom('body', 'x-signature-timestamp', 'x-signature-ed25519');
  await fc.assert(
    fc.asyncProperty(fc.json(), part, arbChange, async (text, changedPart, change) => {
      const body = Buffer.from(`{"type":1,"x":${text}}`);
      const time = String(Math.floor(Date.now() / 1000));
      const signed = nacl.sign.detached(Buffer.concat([Buffer.from(time), body]), keys.secretKey);
      const headers: Record<string, string> = {
        'x-signature-ed25519': Buffer.from(signed).toString('hex'),
        'x-signature-timestamp': time,
      };
      const forged = { ...headers };
      if (changedPart !== 'body')
        forged[changedPart] = changeByte(Buffer.from(headers[changedPart] ?? ''), change).toString('latin1');
      // Upper and lower case are equal in hexadecimal.
      const isSame = changedPart !== 'body' && forged[changedPart]?.toLowerCase() === headers[changedPart];
      const refused = await receive(forged, changedPart === 'body' ? changeByte(body, change) : body);
      if (!isSame) expect(refused.status).toBe(401);
      expect((await receive(headers, body)).status).toBe(200);
    }),
    { numRuns: runs(300) },
  );
});
