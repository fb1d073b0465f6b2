// Answers of models that are empty, incomplete or late, and the state of the journal at each model request.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import { AgentWorld, aFoundTool, aRuntime, modelAnswer } from '../../../../fixtures/agents/agent-world.ts';

const payCall = () => modelAnswer('', [['pay', { amount: 1 }]]);
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

it.each(['', ' \n'])('an empty answer (%j) is requested once more', async (text) => {
  const world = new AgentWorld({
    tools: [aFoundTool('pay')],
    answer: (_, n) => (n === 1 ? payCall() : modelAnswer(n === 2 ? text : 'We are open.')),
  });
  expect(await world.attempt()).toMatchObject({ text: 'We are open.' });
  expect(world.modelRequests).toHaveLength(3);
  expect(world.modelRequests[2]?.messages.slice(-2)).toMatchObject([
    { role: 'assistant', text: '(no answer)' },
    { role: 'user', text: 'Your answer was empty. Answer the last request, with text.' },
  ]);
  expect(world.ofKind('unfit')).toEqual([
    { kind: 'unfit', iteration: 2, reason: 'the answer is empty', isEmpty: true },
  ]);
});

it('two consecutive empty model answers fail the run, and two with a tool call between them do not', async () => {
  const twice = new AgentWorld({ answer: () => modelAnswer('') });
  const error = await twice.attempt().catch((reason: unknown) => reason as HandlerError);
  expect(error).toMatchObject({ isFinal: true });
  expect((error as HandlerError).message).toContain('answered twice without text and without tool calls');
  expect(twice.modelRequests).toHaveLength(2);
  const answers = [modelAnswer(''), payCall(), modelAnswer(''), modelAnswer('done')];
  const apart = new AgentWorld({
    tools: [aFoundTool('pay')],
    answer: (_, n) => answers[n - 1] ?? modelAnswer('too many requests'),
  });
  expect(await apart.attempt()).toMatchObject({ text: 'done' });
});

it('an empty answer in the last iteration fails the run', async () => {
  const world = new AgentWorld({ runtime: aRuntime({ max_iterations: 1 }), answer: () => modelAnswer('') });
  await expect(world.attempt()).rejects.toThrow('max_iterations (1) is used up, and the answer is empty');
});

it.each([
  ['length', 'the model reached its length limit'],
  ['filtered', "the provider's content filter stopped it"],
] as const)('an answer cut by %s is marked for the reader and in the journal', async (finish, reason) => {
  const world = new AgentWorld({
    answer: () => modelAnswer('Before you delete it, note that ', [], { finish }),
  });
  const text = `Before you delete it, note that\n\n[The answer is incomplete: ${reason}.]`;
  expect(await world.attempt()).toMatchObject({ text });
  expect(world.ofKind('ended')).toMatchObject([{ text, cut: finish }]);
  // A later attempt returns the same answer.
  expect(await world.attempt()).toMatchObject({ text });
});

it('the results of tool calls are stored durably before the next model request', async () => {
  const durable: number[] = [];
  const world: AgentWorld = new AgentWorld({
    tools: [aFoundTool('pay'), aFoundTool('look', { isReadOnly: true })],
    answer: (_, n) => {
      durable.push(world.ofKind('result').length);
      const call = modelAnswer('', [
        ['pay', {}],
        ['look', {}],
      ]);
      return n < 3 ? call : modelAnswer('done');
    },
  });
  await world.attempt();
  expect(durable).toEqual([0, 2, 4]);
});

it('an agent makes no model request after its timeout, in this attempt and in the next', async () => {
  const late = new HandlerError('the model did not answer within the remaining time', { isFinal: false });
  const world = new AgentWorld({
    runtime: aRuntime({ timeout_seconds: 0.2 }),
    answer: async (_request, _n, { remainingMs }) => {
      await sleep(remainingMs);
      throw late;
    },
  });
  await expect(world.attempt()).rejects.toMatchObject({ isFinal: true });
  await expect(world.attempt()).rejects.toThrow('has no answer after timeout_seconds (0.2)');
  expect(world.modelRequests).toHaveLength(1);
});

it('the working time of failed attempts counts towards the timeout of the agent run', async () => {
  const unavailable = new HandlerError('the model answered 503', { isFinal: false });
  const world = new AgentWorld({
    runtime: aRuntime({ timeout_seconds: 0.5 }),
    answer: async () => {
      await sleep(200);
      throw unavailable;
    },
  });
  const failures: unknown[] = [];
  for (let n = 0; n < 5; n++) failures.push(await world.attempt().catch(({ isFinal }) => isFinal));
  expect(failures).toEqual([false, false, true, true, true]);
  expect(world.modelRequests).toHaveLength(3);
});

it('the newest images of tool results are sent to the model, and older images are omitted', async () => {
  const images = [{ mediaType: 'image/png', data: png }];
  const world = new AgentWorld({
    tools: [aFoundTool('shot')],
    answer: (_, n) => (n <= 10 ? modelAnswer('', [['shot', {}]]) : modelAnswer('seen')),
    call: async () => ({ text: '(image)', isError: false, images }),
  });
  await world.attempt();
  const results = world.modelRequests
    .at(-1)
    ?.messages.flatMap((each) => (each.role === 'tool' ? each.results : []));
  expect(results?.map((each) => each.images?.length ?? 0)).toEqual([0, 0, ...Array(8).fill(1)]);
  expect(world.ofKind('result')[0]).toMatchObject({ text: '(image)', images });
});

it('images that exceed the limits of the journal are omitted', async () => {
  const image = (length: number) => [{ mediaType: 'image/png', data: png.padEnd(length, 'A') }];
  const world = new AgentWorld({
    tools: [aFoundTool('shot')],
    answer: (_, n) => (n <= 16 ? modelAnswer('', [['shot', { n }]]) : modelAnswer('seen')),
    call: async (_, { n }) => ({
      text: '(image)',
      isError: false,
      images: image(n === 1 ? 1_000_000 : 700_000),
    }),
  });
  await world.attempt();
  const stored = world.ofKind('result').map(({ images = [] }) => images.length);
  expect(stored).toEqual([0, ...Array(12).fill(1), 0, 0, 0]);
});
