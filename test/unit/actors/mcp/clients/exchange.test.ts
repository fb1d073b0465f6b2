// Large responses consist of several buffers. An outlet (a client's response stream) receives these pieces if
// it accepts pieces, otherwise a single Buffer.

import { describe, expect, test } from 'vitest';
import { ClientExchange } from '../../../../../actors/mcp/clients/exchange.ts';
import type { Outlet } from '../../../../../actors/mcp/clients/outlet.ts';
import { EncodedResult } from '../../../../../actors/mcp/jsonrpc/compose.ts';
import { Envelope } from '../../../../../actors/mcp/jsonrpc/envelope.ts';
import { readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';
import { type Message, toBuffer } from '../../../../../actors/mcp/jsonrpc/span.ts';

function exchangeWith(takesPieces: boolean) {
  const finished: Message[] = [];
  const outlet: Outlet = {
    send: () => {},
    finish: (message) => finished.push(message),
    ...(takesPieces ? { finishInPieces: (pieces) => finished.push(pieces) } : {}),
    drop: () => {},
  };
  const exchange = new ClientExchange('"mine"', outlet, { redact: (text) => text, onEnd: () => {} });
  return { exchange, finished };
}

const text = 'x'.repeat(20_000);
const large = () =>
  readServerMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, result: { text } })));

describe.each([
  ['a server response', (exchange: ClientExchange) => exchange.answer(large())],
  [
    'a cached result',
    (exchange: ClientExchange) => exchange.encodedResult(new EncodedResult(JSON.stringify({ text }))),
  ],
])('%s', (_, answer) => {
  test.each([
    ['in pieces if the outlet accepts pieces', true],
    ['as one Buffer if the outlet accepts only a Buffer', false],
  ])('that is large is sent %s', (__, takesPieces) => {
    const { exchange, finished } = exchangeWith(takesPieces);
    answer(exchange);
    expect(finished).toHaveLength(1);
    const [message = Buffer.alloc(0)] = finished;
    expect(Buffer.isBuffer(message)).toBe(!takesPieces);
    expect(JSON.parse(toBuffer(message).toString())).toEqual({
      jsonrpc: '2.0',
      id: 'mine',
      result: { text },
    });
  });
});

test('a response received in pieces is sent to the client in pieces, without a copy of the large parts', () => {
  const { exchange, finished } = exchangeWith(true);
  const pieces = ['{"result":"', text, text, '","id":7}'].map((each) => Buffer.from(each));
  const answer = new Envelope(pieces);
  answer.kind = 'answer';
  answer.result = { start: 10, end: 12 + 2 * text.length };
  answer.id = { start: 18 + 2 * text.length, end: 19 + 2 * text.length };
  exchange.answer(answer);
  const [message] = finished;
  if (message === undefined || Buffer.isBuffer(message)) throw new Error('it was put together');
  expect(JSON.parse(toBuffer(message).toString())).toEqual({ id: 'mine', result: text + text });
  expect(message.filter(({ length }) => length >= text.length)).toEqual(pieces.slice(1, 3));
  expect(message.map(({ buffer }) => buffer)).toEqual(
    expect.arrayContaining([pieces[1]?.buffer, pieces[2]?.buffer]),
  );
});
