// Model streams that the network cuts: the client repeats the request and returns the complete answer to a
// single request, never parts of two answers.

import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import {
  lookUp,
  modelRequest,
  modelsAt,
  providerTypes,
  requestModel,
} from '../../../../fixtures/models/model-requests.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import { inputPieces, type ScriptedAnswer, type Wire } from '../../../../fixtures/models/reply.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});

const pieceText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const pieces = fc.array(pieceText, { minLength: 1, maxLength: 5 });
const call = fc.record({
  name: fc.constant('look_up'),
  input: fc.dictionary(pieceText, fc.jsonValue({ maxDepth: 1 })),
});
const answers = fc.record({
  text: pieces,
  calls: fc.array(call, { maxLength: 3 }),
  finish: fc.constantFrom('stop' as const, 'length' as const),
});
/** Transmissions in pieces of any size, and with any interruption. Both are optional. */
const wires: fc.Arbitrary<Wire> = fc.record(
  {
    pieceBytes: fc.integer({ min: 1, max: 400 }),
    cut: fc.record({
      afterBytes: fc.integer({ min: 0, max: 3_000 }),
      how: fc.constantFrom('reset' as const, 'end' as const),
    }),
  },
  { requiredKeys: [] },
);

/** Returns the answer that the client must return for the script. */
function answerOf({ text, calls = [], finish }: ScriptedAnswer) {
  const inputs = calls.map((each) => JSON.parse(inputPieces(each).join('')) as unknown);
  return {
    text: [text].flat().join(''),
    inputs,
    finish: finish === 'length' ? 'length' : calls.length > 0 ? 'calls' : 'stop',
  };
}

it.each(providerTypes)(
  'an interrupted model stream of %s is requested again, and yields no wrong answer',
  async (type) => {
    const models = modelsAt(server.url);
    await fc.assert(
      fc.asyncProperty(answers, wires, answers, async (first, wire, second) => {
        server.reset();
        server.reply({ ...first, ...wire }, { ...second, text: ['second ', ...second.text] });
        const received: string[] = [];
        const answer = await requestModel(models, [type], modelRequest({ tools: [lookUp] }), {
          retries: 1,
          onText: (text) => received.push(text),
        });
        const { text, calls, finish } = answer;
        const actualAnswer = { text, inputs: calls.map(({ input }) => JSON.parse(input) as unknown), finish };
        const isRepeated = server.requests.length === 2;
        expect(actualAnswer).toEqual(
          answerOf(isRepeated ? { ...second, text: ['second ', ...second.text] } : first),
        );
        expect(received.at(-1)).toBe(text);
        // A second request is made only if a part of the answer is missing.
        if (wire.cut === undefined) expect(isRepeated).toBe(false);
      }),
      { numRuns: 30 },
    );
  },
);
