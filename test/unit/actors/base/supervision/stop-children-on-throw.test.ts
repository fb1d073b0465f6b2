import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type AnyActorLogic,
  type AnyActorRef,
  assign,
  createActor,
  createMachine,
  emit,
  fromCallback,
  fromPromise,
  raise,
  SimulatedClock,
  sendTo,
  setup,
  spawnChild,
  stopChild,
} from 'xstate';
import { stopChildrenOnThrow } from '../../../../../actors/base/supervision/stop-children-on-throw.ts';

const bug = new Error('bug');
const boom = () => {
  throw bug;
};

/** Names of the running children. */
const running = new Set<string>();
const startedNames: string[] = [];
beforeEach(() => {
  running.clear();
  startedNames.length = 0;
});

const worker = fromCallback<{ type: 'x' }, string>(({ input }) => {
  running.add(input);
  startedNames.push(input);
  return () => running.delete(input);
});

/** Starts the logic as a root actor and returns the resulting error. */
function run(logic: AnyActorLogic, clock = new SimulatedClock()) {
  const observed: { errors: unknown[] } = { errors: [] };
  const actor = createActor(logic, { clock });
  actor.subscribe({ error: (error) => observed.errors.push(error) });
  actor.start();
  return { actor, ...observed };
}

const parent = setup({ actors: { worker } }).createMachine({
  invoke: { src: 'worker', input: 'invoked' },
  entry: spawnChild('worker', { id: 'spawned', input: 'spawned', systemId: 'name' }),
  on: {
    boom: { actions: boom },
    'spawn and boom': {
      actions: [spawnChild('worker', { id: 'late', input: 'late', systemId: 'late' }), boom],
    },
    'stop and boom': { actions: [stopChild('spawned'), boom] },
    'put off and boom': {
      actions: [
        sendTo('spawned', { type: 'x' }),
        raise({ type: 'boom' }, { delay: 10 }),
        emit({ type: 'news' }),
        boom,
      ],
    },
    fine: { actions: spawnChild('worker', { id: 'fine', input: 'fine' }) },
  },
});

describe('a machine in stopChildrenOnThrow() whose action throws', () => {
  test('stops its invoked and spawned children, and fails with the same error', () => {
    const { actor, errors } = run(stopChildrenOnThrow(parent));
    expect([...running].sort()).toEqual(['invoked', 'spawned']);
    actor.send({ type: 'boom' });
    expect([...running]).toEqual([]);
    expect(errors).toEqual([bug]);
    expect(actor.getSnapshot()).toMatchObject({ status: 'error', error: bug, children: {} });
    expect(actor.system.get('name')).toBeUndefined();
  });

  test('never starts a child that the throwing transition spawned, and frees its system id', () => {
    const { actor, errors } = run(stopChildrenOnThrow(parent));
    actor.send({ type: 'spawn and boom' });
    expect(startedNames).not.toContain('late');
    expect([...running]).toEqual([]);
    expect(actor.system.getAll()).toEqual({});
    expect(errors).toEqual([bug]);
  });

  test('frees the system ids of the descendants of a child that was never started', () => {
    const nest = createMachine({ entry: spawnChild(worker, { input: 'deep', systemId: 'deep' }) });
    const logic = createMachine({ on: { go: { actions: [spawnChild(nest, { id: 'nest' }), boom] } } });
    const { actor } = run(stopChildrenOnThrow(logic));
    actor.send({ type: 'go' });
    expect(actor.system.getAll()).toEqual({});
    expect(startedNames).toEqual([]);
  });

  test('stops a child that the throwing transition was about to stop', () => {
    const { actor } = run(stopChildrenOnThrow(parent));
    actor.send({ type: 'stop and boom' });
    expect([...running]).toEqual([]);
  });

  test('drops sends, timers and emits that the throwing transition had deferred', () => {
    const clock = new SimulatedClock();
    const { actor, errors } = run(stopChildrenOnThrow(parent), clock);
    const news = vi.fn();
    actor.on('news', news);
    actor.send({ type: 'put off and boom' });
    clock.increment(100);
    expect(news).not.toHaveBeenCalled();
    expect(errors).toEqual([bug]);
  });

  test('stops the children of its children', () => {
    const middle = createMachine({ invoke: { src: worker, input: 'deep' } });
    const logic = createMachine({ invoke: { src: middle }, on: { boom: { actions: boom } } });
    const { actor } = run(stopChildrenOnThrow(logic));
    expect([...running]).toEqual(['deep']);
    actor.send({ type: 'boom' });
    expect([...running]).toEqual([]);
  });

  test('stops the child whose event caused the error', () => {
    const child = createMachine({
      invoke: { src: worker, input: 'deep' },
      on: { go: { actions: ({ self }) => self._parent?.send({ type: 'boom' }) } },
    });
    const logic = createMachine({ invoke: { src: child, id: 'child' }, on: { boom: { actions: boom } } });
    const { actor, errors } = run(stopChildrenOnThrow(logic));
    const ref: AnyActorRef = actor.getSnapshot().children.child;
    ref.send({ type: 'go' });
    expect(ref.getSnapshot().status).toBe('stopped');
    expect([...running]).toEqual([]);
    expect(errors).toEqual([bug]);
  });

  test('reports the error to its parent, which can spawn it again under the same name', () => {
    const root = createMachine({
      context: { heard: [] as unknown[] },
      initial: 'on',
      states: {
        on: {
          invoke: { src: stopChildrenOnThrow(parent), id: 'p', systemId: 'parent' },
          on: {
            'xstate.error.actor.p': {
              target: 'on',
              reenter: true,
              actions: assign({ heard: ({ context, event }) => [...context.heard, event.error] }),
            },
          },
        },
      },
    });
    const { actor } = run(root);
    actor.system.get('parent').send({ type: 'spawn and boom' });
    actor.system.get('parent').send({ type: 'spawn and boom' });
    expect(actor.getSnapshot().context.heard).toEqual([bug, bug]);
    expect([...running].sort()).toEqual(['invoked', 'spawned']);
  });
});

describe('a machine in stopChildrenOnThrow() that throws while it starts', () => {
  test('stops the children that were started before its entry action threw', () => {
    const logic = createMachine({
      invoke: { src: worker, input: 'invoked', systemId: 'invoked' },
      entry: [spawnChild(worker, { id: 'spawned', input: 'spawned' }), boom],
    });
    const { actor, errors } = run(stopChildrenOnThrow(logic));
    expect([...running]).toEqual([]);
    expect(errors).toEqual([bug]);
    expect(actor.system.getAll()).toEqual({});
  });

  test('frees the system ids of children that were never started', () => {
    const logic = createMachine({
      context: {},
      entry: [spawnChild(worker, { input: 'spawned', systemId: 'name' }), assign(boom)],
    });
    const { actor, errors } = run(stopChildrenOnThrow(logic));
    expect(startedNames).toEqual([]);
    expect(actor.system.getAll()).toEqual({});
    expect(errors).toEqual([bug]);
  });
});

describe('logic in stopChildrenOnThrow() that does not throw', () => {
  test('starts and stops its children as usual', () => {
    const { actor, errors } = run(stopChildrenOnThrow(parent));
    actor.send({ type: 'fine' });
    expect([...running].sort()).toEqual(['fine', 'invoked', 'spawned']);
    actor.stop();
    expect([...running]).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('executes its effects in the same order as without stopChildrenOnThrow()', () => {
    const orderOf = (wrap: (logic: AnyActorLogic) => AnyActorLogic): string[] => {
      const events: string[] = [];
      const listener = fromCallback(({ receive }) => {
        events.push('started');
        receive((event) => events.push(event.type));
        return () => events.push('stopped');
      });
      const logic = createMachine({
        on: {
          go: {
            actions: [
              spawnChild(listener, { id: 'l' }),
              sendTo('l', { type: 'one' }),
              () => events.push('action'),
            ],
          },
          on: { actions: [sendTo('l', { type: 'two' }), stopChild('l')] },
        },
      });
      const { actor } = run(wrap(logic));
      actor.send({ type: 'go' });
      actor.send({ type: 'on' });
      return events;
    };
    expect(orderOf(stopChildrenOnThrow)).toEqual(['action', 'started', 'one', 'two', 'stopped']);
    expect(orderOf((logic) => logic)).toEqual(orderOf(stopChildrenOnThrow));
  });

  test('has the same protection in a copy made with provide()', () => {
    const logic = stopChildrenOnThrow(parent).provide({ actors: { worker } });
    run(logic).actor.send({ type: 'boom' });
    expect([...running]).toEqual([]);
  });
});

describe('logic other than a machine in stopChildrenOnThrow()', () => {
  test('runs the cleanup of a callback actor whose receiver throws', () => {
    const cleanup = vi.fn();
    const logic = fromCallback(({ receive }) => {
      receive(boom);
      return cleanup;
    });
    const { actor, errors } = run(stopChildrenOnThrow(logic));
    actor.send({ type: 'x' });
    expect(cleanup).toHaveBeenCalledOnce();
    expect(errors).toEqual([bug]);
  });

  test('reports the first error if the cleanup throws as well', () => {
    const logic = fromCallback(({ receive }) => {
      receive(boom);
      return () => {
        throw new Error('second');
      };
    });
    const { actor, errors } = run(stopChildrenOnThrow(logic));
    actor.send({ type: 'x' });
    expect(errors).toEqual([bug]);
  });

  test('returns the output of a promise unchanged', async () => {
    const actor = createActor(stopChildrenOnThrow(fromPromise(() => Promise.resolve(7)))).start();
    await vi.waitFor(() => expect(actor.getSnapshot()).toMatchObject({ status: 'done', output: 7 }), {
      timeout: 10_000,
    });
  });
});

// Assumptions of stop-children-on-throw.ts about XState. If one of these tests fails after an upgrade,
// review that file.
describe('XState, as stop-children-on-throw.ts assumes,', () => {
  afterEach(() => vi.restoreAllMocks());

  test('leaves children running when an action throws (otherwise stopChildrenOnThrow is unnecessary)', () => {
    const { actor, errors } = run(parent);
    actor.send({ type: 'boom' });
    expect(errors).toEqual([bug]);
    expect([...running].sort()).toEqual(['invoked', 'spawned']);
    // Stops the children; otherwise they would run on.
    for (const child of Object.values<AnyActorRef>(actor.getSnapshot().children))
      Reflect.get(child, '_stop').call(child);
    expect([...running]).toEqual([]);
  });

  test('defers starts, sends, stops, timers and emits through `scope.defer`, and nothing else', () => {
    const deferred: string[] = [];
    const watched = Object.assign(Object.create(parent), {
      transition: (
        snapshot: never,
        event: { type: string },
        scope: { defer: (effect: () => void) => void },
      ) => {
        const defer = (effect: () => void) => {
          deferred.push(event.type);
          scope.defer(effect);
        };
        return parent.transition(snapshot, event as never, { ...scope, defer } as never);
      },
    });
    const { actor, errors } = run(watched);
    for (const type of ['fine', 'put off and boom']) {
      expect(deferred.filter((observed) => observed === type)).toEqual([]);
      actor.send({ type });
    }
    expect(deferred).toEqual(['fine', 'put off and boom', 'put off and boom', 'put off and boom']);
    expect(errors).toEqual([bug]);
  });

  test('never starts a new child if `scope.defer` ignores the effects that it receives', () => {
    const muted = Object.assign(Object.create(parent), {
      transition: (snapshot: never, event: never, scope: object) =>
        parent.transition(snapshot, event, { ...scope, defer: () => {} } as never),
    });
    const { actor } = run(muted);
    actor.send({ type: 'fine' });
    expect(startedNames).not.toContain('fine');
    expect(actor.getSnapshot().children).toHaveProperty('fine');
  });

  test('passes initial actions to `scope.actionExecutor`, and runs them once the children have started', () => {
    const order: string[] = [];
    const logic = createMachine({
      invoke: { src: fromCallback(() => void order.push('child')) },
      entry: function mark() {
        order.push('action');
      },
    });
    const types: string[] = [];
    const watched = Object.assign(Object.create(logic), {
      getInitialSnapshot: (
        scope: { actionExecutor: (action: { type: string }) => void },
        input: undefined,
      ) => {
        const actionExecutor = (action: { type: string }) => {
          types.push(action.type);
          scope.actionExecutor(action);
        };
        return logic.getInitialSnapshot({ ...scope, actionExecutor } as never, input);
      },
    });
    run(watched);
    expect(types).toEqual(['mark', 'xstate.spawnChild']);
    expect(order).toEqual(['child', 'action']);
  });

  test('stops the children of an actor that receives `xstate.stop`; `_parent` of a child is this actor', () => {
    const { actor } = run(parent);
    const child: AnyActorRef = actor.getSnapshot().children.spawned;
    expect(child._parent).toBe(actor);
    actor.send({ type: 'xstate.stop' });
    expect([...running]).toEqual([]);
  });
});
