// Client capabilities that the gateway hides from modern servers (MCP revision 2026-07-28): roots, unless
// forwarded. Other bytes are unchanged.

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

/** Returns the message for the server. */
function sentMessage(text: string): string {
  const envelope = readClientMessage(Buffer.from(text));
  const server = { entry: { forward_roots: false } } as RoutedRequest['server'];
  const caller = readCaller(envelope);
  const request = { session: undefined, caller, envelope, trace: undefined } as unknown as RoutedRequest;
  const route = routeTo(request, server, []);
  return toBuffer(applyEdits(envelope.bytes, hiddenCapabilityEdits(route, caller))).toString();
}

test.each([
  [`{"extensions":{${TASKS},${UI}}}`, `{"extensions":{${TASKS},${UI}}}`],
  [`{"roots":{},"extensions":{${TASKS}}}`, `{"extensions":{${TASKS}}}`],
  [`{"extensions":{${UI}},"roots":{}}`, `{"extensions":{${UI}}}`],
  ['{"extensions":7}', '{"extensions":7}'],
  ['{}', '{}'],
])('the client capabilities %s are sent to a server as %s', (capabilities, expected) => {
  expect(sentMessage(message(capabilities))).toBe(message(expected));
});
