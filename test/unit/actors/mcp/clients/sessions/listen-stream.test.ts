// The stream of a client that subscribes to notifications without a session (2026-07-28,
// subscriptions/listen).

import { describe, expect, test } from 'vitest';
import { StoppedError } from '../../../../../../actors/base/errors/errors.ts';
import type { Outlet } from '../../../../../../actors/mcp/clients/outlet.ts';
import { ListenStream } from '../../../../../../actors/mcp/clients/sessions/listen-stream.ts';
import { readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import type { Message } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import { toBuffer } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';

const mark = 'io.modelcontextprotocol/subscriptionId';
const noConnection = undefined as unknown as Connection;

function beginListening(rawId = '"l"') {
  const sent: string[] = [];
  const messages: Message[] = [];
  let finished: string | undefined;
  let endCount = 0;
  const outlet: Outlet = {
    send: (message) => {
      messages.push(message);
      sent.push(toBuffer(message).toString());
    },
    finish: (message) => {
      finished = message.toString();
    },
    drop: () => {
      finished = '';
    },
  };
  const envelope = readServerMessage(
    Buffer.from(`{"id":${rawId},"method":"subscriptions/listen","params":{}}`),
  );
  const caller = { clientInfo: { name: 'c', version: '1' }, capabilities: {}, logLevel: undefined };
  const listening = new ListenStream(envelope, {
    target: 'it',
    caller,
    owner: { principal: 'anonymous', client: '' },
    outlet,
    serverInfo: { name: '"_meta":{ $& $1', version: '1' },
    redact: (text) => text.replace('secret', '…'),
    onEnd: () => {
      endCount += 1;
    },
  });
  const update = (params: string) =>
    listening.onServerNotification(
      noConnection,
      readServerMessage(Buffer.from(`{"method":"notifications/resources/updated","params":${params}}`)),
    );
  return {
    listening,
    update,
    sent: () => sent.map((text) => JSON.parse(text)),
    raw: sent,
    messages,
    finished: () => finished,
    ends: () => endCount,
  };
}

describe('a subscribed client', () => {
  test('receives a large message by reference, without a copy per client', () => {
    const expectedParams = `{"uri":"a://1","more":"${'x'.repeat(100_000)}"}`;
    const message = readServerMessage(
      Buffer.from(`{"method":"notifications/resources/updated","params":${expectedParams}}`),
    );
    for (const id of ['"one"', '"two"']) {
      const { listening, messages, sent } = beginListening(id);
      listening.acknowledge(['a://1']);
      listening.onServerNotification(noConnection, message);
      expect(sent().at(-1).params).toMatchObject({ _meta: { [mark]: JSON.parse(id) }, uri: 'a://1' });
      const pieces = messages.at(-1) as readonly Buffer[];
      const largest = pieces.reduce((one, other) => (other.length > one.length ? other : one));
      expect(largest.buffer).toBe(message.bytes.buffer);
    }
  });

  test.each([
    ['{"uri":"a://1"}', { uri: 'a://1' }],
    ['{ }', {}],
    ['{"uri":"a://1","_meta":{}}', { uri: 'a://1' }],
    ['{"_meta":{"x":1.0},"uri":"a://1"}', { uri: 'a://1', x: 1 }],
    [`{"_meta":{"${mark}":9,"x":1},"uri":"ä"}`, { uri: 'ä', x: 1 }],
    ['{"_meta":null,"uri":"a://1"}', { uri: 'a://1' }],
    ['{"uri":"a://1","_meta":"text"}', { uri: 'a://1' }],
    ['{"uri":"a://1","_meta":[1]}', { uri: 'a://1' }],
  ])(
    'receives an update with params %s as valid JSON with its subscription id',
    (params, { uri, x }: { uri?: string; x?: number }) => {
      const client = beginListening();
      client.listening.acknowledge(['a://1']);
      client.update(params);
      const { params: expectedParams } = client.sent()[1];
      expect(expectedParams).toEqual({
        ...(uri === undefined ? {} : { uri }),
        _meta: { [mark]: 'l', ...(x === undefined ? {} : { x }) },
      });
      if (x !== undefined && params.includes('1.0')) expect(client.raw[1]).toContain('"x":1.0');
    },
  );

  test('receives an error without the secrets in it', () => {
    const client = beginListening();
    client.listening.fail(new StoppedError('the server reported: secret is no key'));
    expect(JSON.parse(client.finished() ?? '').error.message).toBe('the server reported: … is no key');
  });

  test('receives the acknowledgement first, and then a limited number of earlier notifications', () => {
    const client = beginListening('9007199254740993');
    client.listening.kinds = new Set(['tools']);
    for (let number = 0; number < 1000; number += 1) client.update(`{"uri":"a://${number}"}`);
    expect(client.raw).toEqual([]);
    client.listening.notify('prompts');
    client.listening.acknowledge(['a://0']);
    client.listening.notify('tools');
    const methods = client.sent().map(({ method }) => method);
    expect(methods[0]).toBe('notifications/subscriptions/acknowledged');
    expect(methods.at(-1)).toBe('notifications/tools/list_changed');
    expect(methods).toHaveLength(258);
    for (const text of client.raw) expect(text).toContain(`"${mark}":9007199254740993`);
  });

  test('receives one valid result at its end, with any server name, and nothing afterwards', () => {
    const client = beginListening();
    client.listening.kinds = new Set(['tools']);
    client.listening.acknowledge([]);
    client.listening.end();
    client.listening.end();
    client.listening.fail(new StoppedError('late'));
    client.listening.cancel();
    client.listening.notify('tools');
    const { id, result } = JSON.parse(client.finished() ?? '');
    expect([id, result.resultType, result._meta[mark]]).toEqual(['l', 'complete', 'l']);
    expect(result._meta['io.modelcontextprotocol/serverInfo'].name).toBe('"_meta":{ $& $1');
    expect([client.raw.length, client.ends()]).toEqual([1, 1]);
  });

  test('receives an error, and no acknowledgement, if the subscription ends before it is acknowledged', () => {
    const client = beginListening();
    let cancelled = 0;
    client.listening.call = {
      connection: undefined,
      cancel: () => {
        cancelled += 1;
      },
    };
    client.listening.end();
    client.listening.acknowledge(['a://1']);
    expect(JSON.parse(client.finished() ?? '')).toMatchObject({ id: 'l', error: { code: -32000 } });
    expect([client.raw, cancelled, client.ends()]).toEqual([[], 1, 1]);
  });
});
