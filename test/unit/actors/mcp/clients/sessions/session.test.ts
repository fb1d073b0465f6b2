// Client sessions: server messages on the streams, the usage check, and closing.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConnectionLostError } from '../../../../../../actors/base/errors/errors.ts';
import { ClientExchange } from '../../../../../../actors/mcp/clients/exchange.ts';
import { PendingServerRequests } from '../../../../../../actors/mcp/clients/sessions/pending-server-requests.ts';
import { ReplayBudget } from '../../../../../../actors/mcp/clients/sessions/replay-budget.ts';
import { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { readClientMessage, readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import type { Call } from '../../../../../../actors/mcp/servers/calls/call.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';

class FakeConnection {
  readonly sent: string[] = [];
  /** Questions for which the limits of calls are paused, with the call. */
  readonly pauses = new Map<object, unknown>();

  sendRaw(message: Buffer): void {
    this.sent.push(message.toString());
  }

  pause(key: object, call: unknown): void {
    this.pauses.set(key, call);
  }

  resume(key: object): void {
    this.pauses.delete(key);
  }

  get messages() {
    return this.sent.map((text) => JSON.parse(text));
  }

  get asConnection(): Connection {
    return this as unknown as Connection;
  }
}

const serverMessage = (message: object) => readServerMessage(Buffer.from(JSON.stringify(message)));
const clientMessage = (message: object | string) =>
  readClientMessage(
    Buffer.from(typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })),
  );
const question = (id: unknown = 1, token?: unknown) =>
  serverMessage({
    id,
    method: 'sampling/createMessage',
    params: token === undefined ? {} : { _meta: { progressToken: token } },
  });

class Client {
  readonly onStream: string[] = [];
  streamEnds = 0;
  readonly session = new ClientSession({
    id: 'session',
    target: undefined,
    protocolVersion: '2025-06-18',
    clientInfo: {},
    capabilities: {},
    replayBudget: new ReplayBudget(),
    onConnectionLost: () => {},
  });

  listen(): void {
    this.session.stream = {
      isConnected: true,
      send: (message) => this.onStream.push(message.toString()),
      end: () => {
        this.streamEnds += 1;
      },
    };
  }

  /** Starts a client request on `connection`, which stays pending. */
  request(rawId: string, connection?: FakeConnection) {
    const sent: string[] = [];
    const finished: string[] = [];
    let drops = 0;
    const outlet = {
      send: (message: Buffer) => sent.push(message.toString()),
      finish: (message: Buffer) => finished.push(message.toString()),
      drop: () => {
        drops += 1;
      },
    };
    const exchange: ClientExchange = new ClientExchange(rawId, outlet, {
      redact: (text) => text,
      onEnd: (ended) => this.session.finish(ended),
    });
    let cancels = 0;
    const call = {
      connection: connection?.asConnection,
      isDone: false,
      relay: (message: Buffer) => exchange.relay(message),
      cancel: () => {
        cancels += 1;
        exchange.drop();
      },
    };
    if (connection !== undefined) exchange.call = call as unknown as Call;
    this.session.begin(exchange);
    return {
      sent,
      finished,
      exchange,
      call: call as unknown as Call,
      counts: () => ({ drops, cancels }),
    };
  }
}

describe('a server message for a session', () => {
  const notice = serverMessage({ method: 'notifications/message', params: { level: 'info', data: 1 } });
  const changed = serverMessage({ method: 'notifications/resources/updated', params: { uri: 'x://1' } });

  /** Returns the numbers of messages on both requests and on the stream. */
  function spread(client: Client, requests: { sent: string[] }[]): string {
    const counts = [...requests.map(({ sent }) => sent.length), client.onStream.length];
    return counts.join(' ');
  }

  test.each([
    // [calls on the connection, has a stream, linked to the first call, message, number of messages: first
    // call, second call, stream]
    [0, true, false, notice, '0 0 1'],
    [1, true, false, notice, '1 0 0'],
    [2, true, false, notice, '0 0 1'],
    [2, true, true, notice, '1 0 0'],
    [1, true, false, changed, '0 0 1'],
    [1, true, true, changed, '1 0 0'],
    [0, false, false, notice, '0 0 0'],
    [1, false, false, notice, '1 0 0'],
    [2, false, false, notice, '1 0 0'],
    [1, false, false, changed, '1 0 0'],
  ])(
    'is sent once (calls in flight: %d, open stream: %s, linked to the first call: %s)',
    (count, hasStream, isLinked, message, counts) => {
      const client = new Client();
      const [connection, otherConnection] = [new FakeConnection(), new FakeConnection()];
      if (hasStream) client.listen();
      const requests = [0, 1].map((index) =>
        client.request(String(index), index < count ? connection : otherConnection),
      );
      client.session.onServerNotification(
        connection.asConnection,
        message,
        isLinked ? requests[0]?.call : undefined,
      );
      expect(spread(client, requests)).toBe(counts);
    },
  );

  test('is not sent on the response stream of a call that another server connection handles', () => {
    const client = new Client();
    const { sent } = client.request('1', new FakeConnection());
    client.session.onServerNotification(new FakeConnection().asConnection, notice, undefined);
    expect(sent).toEqual([]);
  });

  test('that is a request is rejected immediately if no stream or call can carry it', () => {
    const client = new Client();
    const connection = new FakeConnection();
    client.session.onServerRequest(connection.asConnection, question('q'), undefined);
    expect(connection.messages).toMatchObject([{ id: 'q', error: { code: -32000 } }]);
  });
});

describe('a server request', () => {
  let client: Client;
  beforeEach(() => {
    client = new Client();
    client.listen();
  });

  test('of two servers with equal ids and tokens stays separate, and each response reaches its server', () => {
    const [one, two] = [new FakeConnection(), new FakeConnection()];
    client.session.onServerRequest(one.asConnection, question('same', 'token'), undefined);
    client.session.onServerRequest(two.asConnection, question('same', 'token'), undefined);
    const [first, second] = client.onStream.map((text) => JSON.parse(text));
    expect(first.id).not.toEqual(second.id);
    expect(first.params._meta.progressToken).not.toEqual(second.params._meta.progressToken);
    const { progressToken } = second.params._meta;
    client.session.onClientProgress(
      clientMessage({ method: 'notifications/progress', params: { progress: 1, progressToken } }),
    );
    client.session.onClientAnswer(clientMessage({ id: second.id, result: 'for two' }));
    client.session.onClientAnswer(clientMessage({ id: first.id, error: { code: 1, message: 'for one' } }));
    expect(one.messages).toEqual([{ jsonrpc: '2.0', id: 'same', error: { code: 1, message: 'for one' } }]);
    expect(two.messages).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1, progressToken: 'token' } },
      { jsonrpc: '2.0', id: 'same', result: 'for two' },
    ]);
  });

  test('receives one response; a late response or one with another id type reaches no server', () => {
    const connection = new FakeConnection();
    client.session.onServerRequest(connection.asConnection, question(7), undefined);
    const { id } = JSON.parse(client.onStream[0] ?? '');
    client.session.onClientAnswer(clientMessage({ id: String(id), result: 1 }));
    client.session.onClientAnswer(clientMessage({ id: 999, result: 1 }));
    expect(connection.sent).toEqual([]);
    client.session.onClientAnswer(clientMessage({ id, result: 1 }));
    client.session.onClientAnswer(clientMessage({ id, result: 2 }));
    expect(connection.messages).toEqual([{ jsonrpc: '2.0', id: 7, result: 1 }]);
  });

  test('receives its response with unchanged bytes', () => {
    const connection = new FakeConnection();
    client.session.onServerRequest(connection.asConnection, question('"\u00fc'), undefined);
    const { id } = JSON.parse(client.onStream[0] ?? '');
    client.session.onClientAnswer(
      clientMessage(`{"result":[9007199254740993,1.0, "\u00fc"],"id":${id},"jsonrpc":"2.0"}`),
    );
    expect(connection.sent).toEqual([
      '{"result":[9007199254740993,1.0, "\u00fc"],"id":"\\"\u00fc","jsonrpc":"2.0"}',
    ]);
  });

  test('that its server cancels is cancelled at the client, with the id sent to the client', () => {
    const [caller, other] = [new FakeConnection(), new FakeConnection()];
    client.session.onServerRequest(caller.asConnection, question('q'), undefined);
    const { id } = JSON.parse(client.onStream[0] ?? '');
    const cancelled = serverMessage({ method: 'notifications/cancelled', params: { requestId: 'q' } });
    client.session.onServerNotification(other.asConnection, cancelled, undefined);
    expect(client.onStream).toHaveLength(1);
    client.session.onServerNotification(caller.asConnection, cancelled, undefined);
    expect(JSON.parse(client.onStream[1] ?? '').params).toEqual({ requestId: id });
    client.session.onClientAnswer(clientMessage({ id, result: 'late' }));
    expect(caller.sent).toEqual([]);
  });
});

describe('a server request during a call', () => {
  const cancelled = serverMessage({ method: 'notifications/cancelled', params: { requestId: 'q' } });

  test.each<[string, (client: Client, connection: FakeConnection) => void]>([
    ['its answer', ({ session }) => session.onClientAnswer(clientMessage({ id: 1, result: 'r' }))],
    [
      'its withdrawal',
      ({ session }, { asConnection }) => {
        session.onServerNotification(asConnection, cancelled, undefined);
      },
    ],
    ['the end of the session', ({ session }) => session.end('over')],
  ])('pauses the timeout of the call until %s', (_, end) => {
    const client = new Client();
    client.listen();
    const connection = new FakeConnection();
    const { call } = client.request('1', connection);
    client.session.onServerRequest(connection.asConnection, question('q'), call);
    expect([...connection.pauses.values()]).toEqual([call]);
    end(client, connection);
    expect(connection.pauses.size).toBe(0);
  });

  test('that cannot be delivered does not pause a timeout', () => {
    const connection = new FakeConnection();
    new Client().session.onServerRequest(connection.asConnection, question('q'), undefined);
    expect(connection.pauses.size).toBe(0);
  });
});

describe('the open server requests of a session', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('are limited: one more is rejected immediately', () => {
    const pending = new PendingServerRequests();
    const connection = new FakeConnection();
    for (let i = 0; i < 300; i += 1) pending.add(connection.asConnection, question(i), undefined);
    expect(pending.size).toBe(256);
    expect(connection.messages.map(({ id }) => id)).toEqual(Array.from({ length: 44 }, (_, i) => 256 + i));
  });

  test('are rejected after ten minutes, without a remaining timer', () => {
    const pending = new PendingServerRequests();
    const connection = new FakeConnection();
    pending.add(connection.asConnection, question('q'), undefined);
    vi.advanceTimersByTime(599_999);
    expect([pending.size, connection.pauses.size]).toEqual([1, 1]);
    vi.advanceTimersByTime(1);
    expect([pending.size, connection.messages[0].id, vi.getTimerCount()]).toEqual([0, 'q', 0]);
    expect(connection.pauses.size).toBe(0);
  });
});

describe('a session', () => {
  test('is in use while a call is in flight or a stream is open', () => {
    const client = new Client();
    expect(client.session.isInUse).toBe(false);
    const { exchange } = client.request('1', new FakeConnection());
    expect(client.session.isInUse).toBe(true);
    exchange.fail(new ConnectionLostError('x'));
    expect(client.session.isInUse).toBe(false);
    client.listen();
    expect(client.session.isInUse).toBe(true);
    client.session.closeStream();
    expect(client.session.isInUse).toBe(false);
  });

  test('cancels the newest of two requests with the same id, and ignores unknown ids', () => {
    const client = new Client();
    const connection = new FakeConnection();
    const [older, newer] = [client.request('1', connection), client.request('1', connection)];
    client.request('"1"', connection);
    client.session.cancel('2');
    client.session.cancel('1');
    expect([older.counts().cancels, newer.counts().cancels]).toEqual([0, 1]);
    client.session.cancel('1');
    expect(older.counts().cancels).toBe(1);
  });

  test('cancels calls, withdraws server requests and closes the stream at its end, once', () => {
    const client = new Client();
    client.listen();
    const connection = new FakeConnection();
    const sent = client.request('1', connection);
    const unsent = client.request('2');
    client.session.onServerRequest(connection.asConnection, question('q'), sent.call);
    client.session.replay.add(1, 1, Buffer.from('x'));
    client.session.end('enough');
    client.session.end('enough');
    for (const { finished } of [sent, unsent]) {
      expect(finished).toHaveLength(1);
      expect(finished[0]).toContain('the session has ended: enough');
    }
    expect(sent.counts()).toEqual({ drops: 0, cancels: 1 });
    expect(connection.messages).toMatchObject([{ id: 'q', error: { message: 'enough' } }]);
    expect([client.streamEnds, client.session.hasReplay, client.session.inFlight]).toEqual([1, false, 0]);
  });
});
