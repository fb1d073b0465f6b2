// The tasks extension in a request at /mcp: taken out of what the client can do, and nothing else with it.

import { expect, test } from 'vitest';
import { withoutTasks } from '../../../../../actors/client/eras/without-tasks.ts';
import { readClientMessage } from '../../../../../actors/jsonrpc/read-message.ts';
import { splice } from '../../../../../actors/jsonrpc/span.ts';

const TASKS = '"io.modelcontextprotocol/tasks":{"x":1}';
const UI = '"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"], "n":1.0}';

function message(capabilities: string): string {
  const meta = `"io.modelcontextprotocol/clientCapabilities":${capabilities}`;
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{${meta}}}}`;
}

test.each([
  [`{"extensions":{${TASKS}},"roots":{}}`, '{"extensions":{},"roots":{}}'],
  [`{"extensions":{${TASKS},${UI}}}`, `{"extensions":{${UI}}}`],
  [`{"extensions":{${UI},${TASKS}}}`, `{"extensions":{${UI}}}`],
  [`{"extensions":{${UI}}}`, `{"extensions":{${UI}}}`],
  [`{${TASKS}}`, `{${TASKS}}`],
  ['{"extensions":7}', '{"extensions":7}'],
  ['{}', '{}'],
])('%s becomes %s', (given, expected) => {
  const envelope = readClientMessage(Buffer.from(message(given)));
  expect(splice(envelope.bytes, withoutTasks(envelope)).toString()).toBe(message(expected));
});

test('a request without capabilities is left alone', () => {
  const envelope = readClientMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call"}'));
  expect(withoutTasks(envelope)).toEqual([]);
});
