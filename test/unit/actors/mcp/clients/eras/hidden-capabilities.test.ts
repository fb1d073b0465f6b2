// Client capabilities that the gateway hides from modern servers: the tasks extension at /mcp, and roots
// unless forwarded. Other bytes are unchanged.

import { expect, test } from 'vitest';
import { hiddenCapabilityEdits } from '../../../../../../actors/mcp/clients/eras/hidden-capabilities.ts';
import { readCaller } from '../../../../../../actors/mcp/clients/eras/modern-caller.ts';
import { type RoutedRequest, routeTo } from '../../../../../../actors/mcp/clients/routed-request.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { toBuffer } from '../../../../../../actors/mcp/jsonrpc/span.ts';

const TASKS = '"io.modelcontextprotocol/tasks":{"x":1}';
const UI = '"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"], "n":1.0}';

function message(capabilities: string): string {
  const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":${capabilities}`;
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{${meta}}}}`;
}

/** Returns the message for the server, if the client uses the merged or a single address. */
function sentMessage(text: string, isMerged: boolean): string {
  const envelope = readClientMessage(Buffer.from(text));
  const server = { entry: { forward_roots: false } } as RoutedRequest['server'];
  const caller = readCaller(envelope);
  const request = { session: undefined, caller, envelope, trace: undefined } as unknown as RoutedRequest;
  const route = routeTo(request, server, [], isMerged ? { server, key: 'a' } : undefined);
  return toBuffer(applyEdits(envelope.bytes, hiddenCapabilityEdits(route, caller))).toString();
}

test.each([
  [`{"extensions":{${TASKS}},"x":{}}`, '{"extensions":{},"x":{}}'],
  [`{"extensions":{${TASKS},${UI}}}`, `{"extensions":{${UI}}}`],
  [`{"extensions":{${UI},${TASKS}}}`, `{"extensions":{${UI}}}`],
  [`{"extensions":{${UI}}}`, `{"extensions":{${UI}}}`],
  [`{"extensions":{${UI}},"extensions":{${TASKS}}}`, `{"extensions":{${UI}},"extensions":{}}`],
  [`{"roots":{},"extensions":{${TASKS},${UI}}}`, `{"extensions":{${UI}}}`],
  [`{"extensions":{${TASKS}},"roots":{}}`, '{"extensions":{}}'],
  [`{${TASKS}}`, `{${TASKS}}`],
  ['{"extensions":7}', '{"extensions":7}'],
  ['{}', '{}'],
])('at /mcp %s becomes %s', (capabilities, expected) => {
  expect(sentMessage(message(capabilities), true)).toBe(message(expected));
});

test('at the address of one server the extension stays', () => {
  const text = message(`{"extensions":{${TASKS}}}`);
  expect(sentMessage(text, false)).toBe(text);
});
