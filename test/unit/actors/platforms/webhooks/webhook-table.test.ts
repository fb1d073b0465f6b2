// Webhook paths with triggers that open and close, over real sockets.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { headerVerifier } from '../../../../../actors/platforms/webhooks/header-verifier.ts';
import {
  loopbackOnly,
  type VerifiedRequest,
} from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type { WebhookReply, WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';
import {
  type PathHandler,
  type WebhookSubscriber,
  WebhookTable,
} from '../../../../../actors/platforms/webhooks/webhook-table.ts';
import { TestSourceHost } from '../../../../fixtures/automation/source-host.ts';
import { httpTrigger } from '../../../../fixtures/automation/triggers.ts';
import { freePort } from '../../../../fixtures/free-port.ts';

let host: TestSourceHost;
beforeEach(async () => {
  host = await new TestSourceHost().start();
});
afterEach(() => host.stop());

/** Handler that responds with the names of open triggers, after `gate` resolves. */
class TriggerNames implements PathHandler<WebhookSubscriber> {
  readonly maxBodyBytes = 1_000;
  readonly unauthorisedText = 'not authorised';
  gate: Promise<void> = Promise.resolve();
  requests = 0;
  async receive({ subscribers }: VerifiedRequest<WebhookSubscriber>): Promise<WebhookReply> {
    this.requests += 1;
    await this.gate;
    return { status: 200, body: subscribers.map(({ trigger }) => trigger.name).join() };
  }
}

const member = (name: string, methods = ['POST']): WebhookSubscriber => ({
  trigger: httpTrigger(name),
  host,
  methods,
  verifier: loopbackOnly,
});

async function request(path = '/hooks', method = 'POST', url = host.url) {
  const response = await fetch(url + path, { method });
  return { status: response.status, text: await response.text(), after: response.headers.get('retry-after') };
}

describe('a webhook path', () => {
  test('is unknown before a trigger opens on it', async () => {
    expect(await request()).toMatchObject({ status: 404 });
  });

  test('belongs to all open triggers that accept the method, sorted by name', async () => {
    const table = new WebhookTable(new TriggerNames());
    const close = await table.add(member('b'), '/hooks');
    await Promise.all([table.add(member('c'), '/hooks'), table.add(member('a', ['PUT']), '/hooks')]);
    expect(await request()).toMatchObject({ status: 200, text: 'b,c' });
    expect(await request('/hooks', 'PUT')).toMatchObject({ status: 200, text: 'a' });
    await close();
    expect(await request()).toMatchObject({ text: 'c' });
  });

  test('counts failed verifications for its triggers and keeps only the last failure', async () => {
    const table = new WebhookTable(new TriggerNames());
    const verifier = {
      ...headerVerifier({ header: 'x-secret', secret: 'one', field: 'secret' }),
      hasProof: ({ headers }: WebhookRequest) => headers['x-secret'] !== undefined,
    };
    await table.add({ ...member('a'), verifier }, '/hooks');
    await table.add({ ...member('b'), verifier }, '/hooks');
    await table.add(member('other'), '/others');
    const send = (headers: Record<string, string>) =>
      fetch(`${host.url}/hooks`, { method: 'POST', headers, body: 'forged' });
    expect(host.proofs.of('a').refused).toBeUndefined();
    await send({});
    expect(host.proofs.of('a').refused).toMatchObject({
      count: 1,
      reason: 'missing',
      text: 'not authorised',
    });
    await Promise.all(Array.from({ length: 20 }, () => send({ 'x-secret': 'guessed' })));
    const { at, ...lastRefusal } = host.proofs.of('b').refused ?? { at: 0 };
    expect(lastRefusal).toEqual({ count: 21, reason: 'wrong', text: 'not authorised' });
    expect(Math.abs(Date.now() - at)).toBeLessThan(60_000);
    await send({ 'x-secret': 'one' });
    expect(host.proofs.of('a').refused?.count).toBe(21);
    expect(host.proofs.of('other').refused).toBeUndefined();
  });

  test('passes a request only to triggers whose verifiers accept it, and returns 401 if none does', async () => {
    const names = new TriggerNames();
    const table = new WebhookTable(names);
    const headerOf = (secret: string) => headerVerifier({ header: 'x-secret', secret, field: 'secret' });
    await table.add({ ...member('a'), verifier: headerOf('one') }, '/hooks');
    await table.add({ ...member('b'), verifier: headerOf('two') }, '/hooks');
    await table.add({ ...member('c'), verifier: headerOf('one') }, '/hooks');
    const send = async (headers: Record<string, string>) => {
      const response = await fetch(`${host.url}/hooks`, { method: 'POST', headers, body: 'x' });
      return [response.status, await response.text()];
    };
    expect(await send({})).toEqual([401, 'not authorised']);
    expect(await send({ 'x-secret': 'three' })).toEqual([401, 'not authorised']);
    expect(names.requests).toBe(0);
    expect(await send({ 'x-secret': 'one' })).toEqual([200, 'a,c']);
    expect(await send({ 'x-secret': 'two' })).toEqual([200, 'b']);
  });

  test('returns 503 after its last trigger has closed, and 404 later', async () => {
    const table = new WebhookTable(new TriggerNames(), 100);
    await (await table.add(member('a'), '/hooks'))();
    expect(await request()).toMatchObject({ status: 503, after: '5' });
    await expect.poll(async () => (await request()).status).toBe(404);
  });

  test('is taken over by a trigger that opens in the meantime', async () => {
    const table = new WebhookTable(new TriggerNames(), 50);
    await (await table.add(member('a'), '/hooks'))();
    await table.add(member('b'), '/hooks');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await request()).toMatchObject({ status: 200, text: 'b' });
  });

  test('can be reopened while it is closing', async () => {
    const table = new WebhookTable(new TriggerNames(), 1);
    for (let round = 0; round < 20; round += 1) {
      const close = await table.add(member('a'), '/hooks');
      expect(await request()).toMatchObject({ status: 200 });
      await close();
      await new Promise((resolve) => setTimeout(resolve, round % 3));
    }
  });

  test('finishes a pending request after its trigger closed', async () => {
    const use = new TriggerNames();
    const table = new WebhookTable(use);
    const close = await table.add(member('a'), '/hooks');
    let openGate = (): void => {};
    use.gate = new Promise((resolve) => {
      openGate = resolve;
    });
    const pendingRequest = request();
    await expect.poll(() => use.requests, { timeout: 30_000 }).toBe(1);
    await close();
    openGate();
    expect(await pendingRequest).toMatchObject({ status: 200, text: 'a' });
  });

  test('can be opened after an attempt in which the listener failed', async () => {
    const table = new WebhookTable(new TriggerNames());
    const stop = await host.listen({
      path: '/hooks',
      methods: new Set(['POST']),
      maxBodyBytes: 1,
      admit: () => ({ status: 418 }),
      receive: async () => ({ status: 418 }),
    });
    await expect(table.add(member('a'), '/hooks')).rejects.toThrow(/taken/);
    await stop();
    await table.add(member('a'), '/hooks');
    expect(await request()).toMatchObject({ status: 200, text: 'a' });
  });

  test('stays open for its other triggers if one trigger is closed twice', async () => {
    const table = new WebhookTable(new TriggerNames());
    const close = await table.add(member('a'), '/hooks');
    await table.add(member('b'), '/hooks');
    await close();
    await close();
    expect(await request()).toMatchObject({ status: 200, text: 'b' });
  });
});

describe('a separate listener', () => {
  test('is shared by its triggers, and closes with the last', async () => {
    const table = new WebhookTable(new TriggerNames());
    const address = { host: '127.0.0.1', port: await freePort() };
    const url = `http://127.0.0.1:${address.port}`;
    const closeAll = await Promise.all([
      table.add(member('a'), '/', address),
      table.add(member('b'), '/', address),
    ]);
    expect(await request('/', 'POST', url)).toMatchObject({ status: 200, text: 'a,b' });
    expect(await request('/')).toMatchObject({ status: 404 });
    for (const close of closeAll) await close();
    await expect(request('/', 'POST', url)).rejects.toThrow();
  });

  test('fails to open if the port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const table = new WebhookTable(new TriggerNames());
    await expect(table.add(member('a'), '/', { host: '127.0.0.1', port })).rejects.toThrow(/EADDRINUSE/);
    await new Promise((resolve) => other.close(resolve));
  });
});
