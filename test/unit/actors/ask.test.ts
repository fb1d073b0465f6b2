import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type AnyActorRef,
  assign,
  createActor,
  createMachine,
  fromCallback,
  SimulatedClock,
  setup,
} from 'xstate';
import { ask, type Reply } from '../../../actors/ask.ts';
import { deadLettersOf } from '../../../actors/dead-letters.ts';
import { ActorGoneError, DeadlineError } from '../../../actors/errors.ts';

interface Question {
  type: 'question';
  reply: Reply<number>;
}
type Wish = Question | { type: 'end' } | { type: 'boom' };

const machine = setup({
  types: { events: {} as Wish, context: {} as { reply?: Reply<number> } },
}).createMachine({
  context: {},
  initial: 'on',
  states: {
    on: {
      on: {
        question: { actions: assign({ reply: ({ event }) => event.reply }) },
        end: 'off',
        boom: {
          actions: () => {
            throw new Error('bug');
          },
        },
      },
    },
    off: { type: 'final' },
  },
});

function start() {
  const actor = createActor(machine, { clock: new SimulatedClock() });
  actor.subscribe({ error: () => {} });
  return actor.start();
}

const put = (reply: Reply<number>): Question => ({ type: 'question', reply });
const observers = (ref: AnyActorRef): number => Reflect.get(ref, 'observers').size;

describe('asking', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('resolves with the answer, and leaves no timer and no subscription (K2)', async () => {
    const actor = start();
    const before = observers(actor);
    const answer = ask(actor, put, 1000);
    expect(vi.getTimerCount()).toBe(1);
    expect(observers(actor)).toBe(before + 1);
    actor.getSnapshot().context.reply?.answer(42);
    await expect(answer).resolves.toBe(42);
    expect(vi.getTimerCount()).toBe(0);
    expect(observers(actor)).toBe(before);
  });

  test('takes an answer that is given within the same call', async () => {
    const echo = fromCallback<Question>(({ receive }) => receive(({ reply }) => reply.answer(7)));
    const actor = createActor(echo).start();
    await expect(ask(actor, put, 1000)).resolves.toBe(7);
    expect(vi.getTimerCount()).toBe(0);
    expect(observers(actor)).toBe(0);
  });

  test('rejects with what the actor refused with', async () => {
    const actor = start();
    const answer = ask(actor, put, 1000);
    const error = new Error('not today');
    actor.getSnapshot().context.reply?.refuse(error);
    await expect(answer).rejects.toBe(error);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('rejects at the deadline, not before, and names actor and event', async () => {
    const actor = start();
    const before = observers(actor);
    const outcome = vi.fn();
    const answer = ask(actor, put, 1000);
    answer.catch(outcome);
    await vi.advanceTimersByTimeAsync(999);
    expect(outcome).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome).toHaveBeenCalledWith(expect.any(DeadlineError));
    await expect(answer).rejects.toThrow(`the actor ${actor.id} did not answer question within 1000 ms`);
    expect(observers(actor)).toBe(before);
  });

  test('settles once: whatever comes after the first outcome is ignored (K1)', async () => {
    const actor = start();
    const answer = ask(actor, put, 1000);
    const { reply } = actor.getSnapshot().context;
    reply?.answer(1);
    reply?.answer(2);
    reply?.refuse(new Error('late'));
    actor.send({ type: 'end' });
    await vi.advanceTimersByTimeAsync(5000);
    await expect(answer).resolves.toBe(1);
  });

  test.each([
    ['ends', (actor: AnyActorRef) => actor.send({ type: 'end' }), undefined],
    ['throws', (actor: AnyActorRef) => actor.send({ type: 'boom' }), new Error('bug')],
    ['is stopped', (actor: AnyActorRef) => actor.stop(), undefined],
  ])('rejects at once when the actor %s before it answers', async (_, finish, cause) => {
    const actor = start();
    const answer = ask(actor, put, 1000);
    const caught = answer.catch((error: unknown) => error);
    finish(actor);
    const error = await caught;
    expect(error).toBeInstanceOf(ActorGoneError);
    expect((error as Error).cause).toEqual(cause);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ['done', (actor: AnyActorRef) => actor.send({ type: 'end' })],
    ['failed', (actor: AnyActorRef) => actor.send({ type: 'boom' })],
    ['stopped', (actor: AnyActorRef) => actor.stop()],
  ])('rejects at once when the actor is %s already, and counts a dead letter', async (_, finish) => {
    const actor = start();
    finish(actor);
    await expect(ask(actor, put, 1000)).rejects.toBeInstanceOf(ActorGoneError);
    expect(vi.getTimerCount()).toBe(0);
    expect(deadLettersOf(actor.system).recent).toEqual([{ type: 'question', target: actor.id }]);
  });

  test('that answers itself leaves nothing behind (K2)', async () => {
    const actor = start();
    const before = observers(actor);
    const asked = ask<number>(
      actor,
      (reply) => {
        reply.answer(1);
        return put(reply);
      },
      1000,
    );
    await expect(asked).resolves.toBe(1);
    expect(vi.getTimerCount()).toBe(0);
    expect(observers(actor)).toBe(before);
  });

  test('rejects when the question cannot be made, and leaves nothing behind', async () => {
    const actor = start();
    const before = observers(actor);
    const broken = () => {
      throw new Error('no question');
    };
    await expect(ask(actor, broken, 1000)).rejects.toThrow('no question');
    expect(vi.getTimerCount()).toBe(0);
    expect(observers(actor)).toBe(before);
  });

  test('an actor that dies of the question rejects with its error as the cause', async () => {
    const logic = createMachine({
      on: {
        question: {
          actions: () => {
            throw new Error('allergic');
          },
        },
      },
    });
    const actor = createActor(logic).start();
    await expect(ask(actor, put, 1000)).rejects.toMatchObject({ cause: new Error('allergic') });
    expect(vi.getTimerCount()).toBe(0);
  });
});
