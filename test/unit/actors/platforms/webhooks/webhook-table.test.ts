// Paths whose triggers come and go, over real sockets.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { headerVerifier } from '../../../../../actors/platforms/webhooks/header-verifier.ts';
import {
  loopbackOnly,
  type Verified,
} from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type { WebhookReply, WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';
import {
  type PathUse,
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

/** Answers with the names of the triggers that are there, when `gate` is open. */
class Names implements PathUse<WebhookSubscriber> {
  readonly maxBodyBytes = 1_000;
  readonly unauthorised = 'nobody may';
  gate: Promise<void> = Promise.resolve();
  asked = 0;
  async receive({ subscribers }: Verified<WebhookSubscriber>): Promise<WebhookReply> {
    this.asked += 1;
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

async function ask(path = '/hooks', method = 'POST', url = host.url) {
  const response = await fetch(url + path, { method });
  return { status: response.status, text: await response.text(), after: response.headers.get('retry-after') };
}

describe('a path', () => {
  test('is nobody’s before a trigger opens on it', async () => {
    expect(await ask()).toMatchObject({ status: 404 });
  });

  test('belongs to all triggers that are open on it and take the method, in the order of their names (WT1)', async () => {
    const table = new WebhookTable(new Names());
    const leave = await table.add(member('b'), '/hooks');
    await Promise.all([table.add(member('c'), '/hooks'), table.add(member('a', ['PUT']), '/hooks')]);
    expect(await ask()).toMatchObject({ status: 200, text: 'b,c' });
    expect(await ask('/hooks', 'PUT')).toMatchObject({ status: 200, text: 'a' });
    await leave();
    expect(await ask()).toMatchObject({ text: 'c' });
  });

  test('counts what proved nothing for those behind it, and keeps the last alone (WT5)', async () => {
    const table = new WebhookTable(new Names());
    const verifier = {
      ...headerVerifier({ header: 'x-secret', secret: 'one', field: 'secret' }),
      mayFit: ({ headers }: WebhookRequest) => headers['x-secret'] !== undefined,
    };
    await table.add({ ...member('a'), verifier }, '/hooks');
    await table.add({ ...member('b'), verifier }, '/hooks');
    await table.add(member('other'), '/others');
    const send = (headers: Record<string, string>) =>
      fetch(`${host.url}/hooks`, { method: 'POST', headers, body: 'forged' });
    expect(host.proofs.of('a').refused).toBeUndefined();
    await send({});
    expect(host.proofs.of('a').refused).toMatchObject({ count: 1, reason: 'missing', text: 'nobody may' });
    await Promise.all(Array.from({ length: 20 }, () => send({ 'x-secret': 'guessed' })));
    const { at, ...kept } = host.proofs.of('b').refused ?? { at: 0 };
    expect(kept).toEqual({ count: 21, reason: 'wrong', text: 'nobody may' });
    expect(Math.abs(Date.now() - at)).toBeLessThan(60_000);
    await send({ 'x-secret': 'one' });
    expect(host.proofs.of('a').refused?.count).toBe(21);
    expect(host.proofs.of('other').refused).toBeUndefined();
  });

  test('shows a body to its adapter only when a verifier has accepted it, for the triggers of those that did (WT4)', async () => {
    const names = new Names();
    const table = new WebhookTable(names);
    const headerOf = (secret: string) => headerVerifier({ header: 'x-secret', secret, field: 'secret' });
    await table.add({ ...member('a'), verifier: headerOf('one') }, '/hooks');
    await table.add({ ...member('b'), verifier: headerOf('two') }, '/hooks');
    await table.add({ ...member('c'), verifier: headerOf('one') }, '/hooks');
    const send = async (headers: Record<string, string>) => {
      const response = await fetch(`${host.url}/hooks`, { method: 'POST', headers, body: 'x' });
      return [response.status, await response.text()];
    };
    expect(await send({})).toEqual([401, 'nobody may']);
    expect(await send({ 'x-secret': 'three' })).toEqual([401, 'nobody may']);
    expect(names.asked).toBe(0);
    expect(await send({ 'x-secret': 'one' })).toEqual([200, 'a,c']);
    expect(await send({ 'x-secret': 'two' })).toEqual([200, 'b']);
  });

  test('answers 503 after its last trigger has gone, and 404 a while later (WT2)', async () => {
    const table = new WebhookTable(new Names(), 100);
    await (await table.add(member('a'), '/hooks'))();
    expect(await ask()).toMatchObject({ status: 503, after: '5' });
    await expect.poll(async () => (await ask()).status).toBe(404);
  });

  test('is taken over by a trigger that comes back in the meantime', async () => {
    const table = new WebhookTable(new Names(), 50);
    await (await table.add(member('a'), '/hooks'))();
    await table.add(member('b'), '/hooks');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await ask()).toMatchObject({ status: 200, text: 'b' });
  });

  test('can be opened again while it is being taken away', async () => {
    const table = new WebhookTable(new Names(), 1);
    for (let round = 0; round < 20; round += 1) {
      const leave = await table.add(member('a'), '/hooks');
      expect(await ask()).toMatchObject({ status: 200 });
      await leave();
      await new Promise((resolve) => setTimeout(resolve, round % 3));
    }
  });

  test('answers a request that is under way although its trigger goes', async () => {
    const use = new Names();
    const table = new WebhookTable(use);
    const leave = await table.add(member('a'), '/hooks');
    let openGate = (): void => {};
    use.gate = new Promise((resolve) => {
      openGate = resolve;
    });
    const asked = ask();
    await expect.poll(() => use.asked, { timeout: 30_000 }).toBe(1);
    await leave();
    openGate();
    expect(await asked).toMatchObject({ status: 200, text: 'a' });
  });

  test('leaves nothing behind when nothing can listen there', async () => {
    const table = new WebhookTable(new Names());
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
    expect(await ask()).toMatchObject({ status: 200, text: 'a' });
  });

  test('is left once, however often that is said', async () => {
    const table = new WebhookTable(new Names());
    const leave = await table.add(member('a'), '/hooks');
    await table.add(member('b'), '/hooks');
    await leave();
    await leave();
    expect(await ask()).toMatchObject({ status: 200, text: 'b' });
  });
});

describe('a listener of its own', () => {
  test('is shared by the triggers that name it, and closes with the last', async () => {
    const table = new WebhookTable(new Names());
    const address = { host: '127.0.0.1', port: await freePort() };
    const url = `http://127.0.0.1:${address.port}`;
    const leaves = await Promise.all([
      table.add(member('a'), '/', address),
      table.add(member('b'), '/', address),
    ]);
    expect(await ask('/', 'POST', url)).toMatchObject({ status: 200, text: 'a,b' });
    expect(await ask('/')).toMatchObject({ status: 404 });
    for (const leave of leaves) await leave();
    await expect(ask('/', 'POST', url)).rejects.toThrow();
  });

  test('refuses to open where the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const table = new WebhookTable(new Names());
    await expect(table.add(member('a'), '/', { host: '127.0.0.1', port })).rejects.toThrow(/EADDRINUSE/);
    await new Promise((resolve) => other.close(resolve));
  });
});
