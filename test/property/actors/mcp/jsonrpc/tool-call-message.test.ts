// A `tools/call` composed by the gateway has the same envelope as the parsed bytes.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Envelope } from '../../../../../actors/mcp/jsonrpc/envelope.ts';
import { MAX_DEPTH } from '../../../../../actors/mcp/jsonrpc/json-scanner.ts';
import { readClientMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';
import { TooDeepFault } from '../../../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { rawJson, type Span } from '../../../../../actors/mcp/jsonrpc/span.ts';
import { toolCallEnvelope } from '../../../../../actors/mcp/jsonrpc/tool-call-message.ts';

const spanOf = (span: Span | undefined) => span && { start: span.start, end: span.end };

/** Returns all parts of an envelope that routers read. */
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

const arbText = fc.string({
  unit: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('"', '\\', 'ä', '😀', '\u2028', '\ud800')),
});

it('the envelope of a composed call equals the envelope read from its bytes', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      arbText,
      fc.dictionary(arbText, fc.jsonValue()),
      fc.option(arbText, { nil: undefined }),
      (id, name, args, key) => {
        const meta = key === undefined ? {} : { 'actor-gateway/key': rawJson(key) };
        const written = toolCallEnvelope(id, name, args, meta);
        const read = readClientMessage(Buffer.from(written.bytes));
        expect(written.bytes.equals(read.bytes)).toBe(true);
        expect(partsOf(written)).toEqual(partsOf(read));
        expect(partsOf(read).args).toEqual(JSON.parse(JSON.stringify(args)));
      },
    ),
    { numRuns: 500 },
  );
});

it('the arguments of a composed call are rejected exactly if a reader rejects its bytes', () => {
  for (const levels of [1, MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH]) {
    const args = { deep: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown };
    const text = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'a', arguments: args },
    });
    const isRefused = (work: () => unknown) => {
      try {
        work();
        return false;
      } catch (error) {
        expect(error).toBeInstanceOf(TooDeepFault);
        return true;
      }
    };
    expect([levels, isRefused(() => toolCallEnvelope(1, 'a', args, {}))]).toEqual([
      levels,
      isRefused(() => readClientMessage(Buffer.from(text))),
    ]);
  }
});
