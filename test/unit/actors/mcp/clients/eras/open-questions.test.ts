// Server requests that wait for the retry of a modern client (MCP revision 2026-07-28): each is completed
// once, on the connection that sent it.

import { beforeEach, expect, test } from 'vitest';
import { OpenQuestions } from '../../../../../../actors/mcp/clients/eras/open-questions.ts';
import { readClientMessage, readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';

const sent: { to: string; message: { id: unknown; result?: unknown; error?: { message: string } } }[] = [];
beforeEach(() => {
  sent.length = 0;
});

const connection = (name: string) =>
  ({
    sendRaw: (message: Buffer) => sent.push({ to: name, message: JSON.parse(message.toString()) }),
  }) as unknown as Connection;
const [first, second] = [connection('here'), connection('there')];

const question = (id: unknown, more: object = { method: 'sampling/createMessage', params: { n: 1 } }) =>
  readServerMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...more })));
const answerQuestion = (inputResponses: unknown) =>
  readClientMessage(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { inputResponses } })),
  );

test('server requests become input requests to the client, and each response returns with its original id', () => {
  const questions = new OpenQuestions();
  questions.add(first, question('a'));
  questions.add(second, question(7, { method: 'roots/list' }));
  expect(JSON.parse(questions.rawRequests)).toEqual({
    'input-1': { method: 'sampling/createMessage', params: { n: 1 } },
    'input-2': { method: 'roots/list' },
  });
  questions.answer(answerQuestion({ 'input-2': { roots: [] }, 'input-1': 'no object', 'input-3': {} }));
  expect(sent).toEqual([{ to: 'there', message: { jsonrpc: '2.0', id: 7, result: { roots: [] } } }]);
  expect(questions.size).toBe(1);
  questions.answer(answerQuestion({ 'input-2': { roots: [] } }));
  expect(sent).toHaveLength(1);
});

test('a withdrawn server request receives no response, and a rejected one receives a single error', () => {
  const questions = new OpenQuestions();
  for (const [caller, id] of [
    [first, 1],
    [second, 1],
    [first, 2],
  ] as const)
    questions.add(caller, question(id));
  questions.withdraw(first, '1');
  questions.withdraw(second, '2');
  questions.refuseAll('over');
  expect(sent.map(({ to, message }) => [to, message.id, message.error?.message])).toEqual([
    ['there', 1, 'over'],
    ['here', 2, 'over'],
  ]);
  questions.refuseAll('over');
  expect(sent).toHaveLength(2);
  expect(questions.size).toBe(0);
});

test('a server request above 256 open ones is rejected immediately; the key of a withdrawn request is not used again', () => {
  const questions = new OpenQuestions();
  for (let n = 0; n < 256; n += 1) expect(questions.add(first, question(n))).toBe(true);
  expect(questions.add(first, question('more'))).toBe(false);
  expect(sent).toMatchObject([
    { message: { id: 'more', error: { message: expect.stringMatching(/too many/) } } },
  ]);
  questions.withdraw(first, '0');
  expect(questions.add(first, question('again'))).toBe(true);
  expect(Object.keys(JSON.parse(questions.rawRequests))).toContain('input-257');
});
