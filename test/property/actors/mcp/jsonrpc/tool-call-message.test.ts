// A `tools/call` that the gateway composes for an agent. Its envelope (the positions of its parts) is equal
// to the envelope of a message parsed from the same bytes, and both ways reject the same arguments.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Envelope } from '../../../../../actors/mcp/jsonrpc/envelope.ts';
import { MAX_DEPTH } from '../../../../../actors/mcp/jsonrpc/json-scanner.ts';
import { readClientMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';
import { TooDeepFault } from '../../../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { rawJson, type Span } from '../../../../../actors/mcp/jsonrpc/span.ts';
import { toolCallEnvelope } from '../../../../../actors/mcp/jsonrpc/tool-call-message.ts';

const spanOf = (span: Span | undefined) => span && { start: span.start, end: span.end };

/**
 * Returns all parts of an envelope that routers read. `hasUnreservedMeta`: `_meta` has members other than the
 * protocol's reserved ones.
 */
function partsOf(envelope: Envelope) {
  const { kind, method, rawId, numericId, hasUnreservedMeta, id, params, result, error, progressToken } =
    envelope;
  return {
    kind,
    method,
    rawId,
    numericId,
    hasUnreservedMeta,
    spans: [id, params, result, error, progressToken].map(spanOf),
    members: ['name', 'arguments', '_meta', 'task', 'cursor'].map((each) => spanOf(envelope.param(each))),
    name: envelope.paramText('name'),
    args: envelope.parse(envelope.param('arguments')),
    meta: envelope.parse(envelope.param('_meta')),
  };
}

/** Any text, also with quotes, wide characters, separators and lone surrogates. */
const anyText = fc.string({
  unit: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('"', '\\', 'ä', '😀', '\u2028', '\ud800')),
});

it('a composed tools/call message equals the message parsed from its bytes', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      anyText,
      fc.dictionary(anyText, fc.jsonValue()),
      fc.option(anyText, { nil: undefined }),
      (id, name, args, key) => {
        const meta = key === undefined ? {} : { 'actor-gateway/key': rawJson(key) };
        const composed = toolCallEnvelope(id, name, args, meta);
        const read = readClientMessage(Buffer.from(composed.bytes));
        expect(composed.bytes.equals(read.bytes)).toBe(true);
        expect(partsOf(composed)).toEqual(partsOf(read));
        expect(partsOf(read).args).toEqual(JSON.parse(JSON.stringify(args)));
      },
    ),
    { numRuns: 500 },
  );
});

it('composing a tools/call message rejects exactly the nesting depths that the parser rejects', () => {
  for (const levels of [1, MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH]) {
    // Arrays in arrays, `levels` deep.
    const args = { deep: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown };
    const text = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'a', arguments: args },
    });
    const isRejected = (read: () => unknown) => {
      try {
        read();
        return false;
      } catch (error) {
        expect(error).toBeInstanceOf(TooDeepFault);
        return true;
      }
    };
    expect([levels, isRejected(() => toolCallEnvelope(1, 'a', args, {}))]).toEqual([
      levels,
      isRejected(() => readClientMessage(Buffer.from(text))),
    ]);
  }
});
