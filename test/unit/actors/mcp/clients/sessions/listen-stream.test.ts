import { describe, expect, test } from 'vitest';
import { StoppedError } from '../../../../../../actors/base/errors/errors.ts';
import type { Outlet } from '../../../../../../actors/mcp/clients/outlet.ts';
import { ListenStream } from '../../../../../../actors/mcp/clients/sessions/listen-stream.ts';
import { readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import type { Message } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import { whole } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';

const mark = 'io.modelcontextprotocol/subscriptionId';
const nowhere = undefined as unknown as Connection;

function begun(rawId = '"l"') {
  const sent: string[] = [];
  const messages: Message[] = [];
  let finished: string | undefined;
  let ends = 0;
  const outlet: Outlet = {
    send: (message) => {
      messages.push(message);
      sent.push(whole(message).toString());
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
    outlet,
    serverInfo: { name: '"_meta":{ $& $1', version: '1' },
    redact: (text) => text.replace('secret', '…'),
    onEnd: () => {
      ends += 1;
    },
  });
  const update = (params: string) =>
    listening.onServerNotification(
      nowhere,
      readServerMessage(Buffer.from(`{"method":"notifications/resources/updated","params":${params}}`)),
    );
  return {
    listening,
    update,
    sent: () => sent.map((text) => JSON.parse(text)),
    raw: sent,
    messages,
    finished: () => finished,
    ends: () => ends,
  };
}

describe('a client that listens', () => {
  test('is sent the bytes of a large message that others are sent too, and not a copy', () => {
    const said = `{"uri":"a://1","more":"${'x'.repeat(100_000)}"}`;
    const message = readServerMessage(
      Buffer.from(`{"method":"notifications/resources/updated","params":${said}}`),
    );
    for (const id of ['"one"', '"two"']) {
      const { listening, messages, sent } = begun(id);
      listening.acknowledge(['a://1']);
      listening.onServerNotification(nowhere, message);
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
    'gets an update with params %s as valid JSON with its mark',
    (params, { uri, x }: { uri?: string; x?: number }) => {
      const client = begun();
      client.listening.acknowledge(['a://1']);
      client.update(params);
      const { params: said } = client.sent()[1];
      expect(said).toEqual({
        ...(uri === undefined ? {} : { uri }),
        _meta: { [mark]: 'l', ...(x === undefined ? {} : { x }) },
      });
      if (x !== undefined && params.includes('1.0')) expect(client.raw[1]).toContain('"x":1.0');
    },
  );

  test('is told why it hears nothing without the secrets in it', () => {
    const client = begun();
    client.listening.fail(new StoppedError('the server said: secret is no key'));
    expect(JSON.parse(client.finished() ?? '').error.message).toBe('the server said: … is no key');
  });

  test('hears what came before its acknowledgement after it, and of no more than it keeps (LS1)', () => {
    const client = begun('9007199254740993');
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

  test('is told well of its end once, whatever its server is called, and hears nothing afterwards (LS3)', () => {
    const client = begun();
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

  test('is not told that all is well when it was never acknowledged, and is not acknowledged afterwards', () => {
    const client = begun();
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
