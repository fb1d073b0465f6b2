// XState leaves the children of a machine running when one of its own actions throws (statelyai/xstate#5153): the
// machine of a crashed server would leave its process behind. Guarded logic ends its children first and then fails
// with the same error, so that A5 (nothing outlives its owner) also holds for bugs.
//
// G1  after a throw, in a transition or in an initial action, no child of the actor runs or starts, and its name
//     in the system is free again for the next generation.
// G2  the error is the one that was thrown, and the parent is told of it exactly as before.
// G3  what the failed transition had put off (sends, timers, starts) never happens.
//
// It leans on inner parts of XState 5.33: `scope.defer`, `scope.actionExecutor`, the `xstate.stop` event and
// `_parent`. test/unit/actors/base/supervision/guarded.test.ts pins each; run it before any upgrade of XState.

import type { AnyActorLogic, AnyActorRef, AnyActorScope } from 'xstate';

type AnySnapshot = ReturnType<AnyActorLogic['transition']>;

/**
 * The same logic, except that a throw also ends the actor's children; for a callback actor whose receiver throws
 * it runs the cleanup. Works for any logic; `provide` of a guarded machine gives a guarded machine.
 */
export function guarded<L extends AnyActorLogic>(logic: L): L {
  const own: Partial<AnyActorLogic> & { provide?: unknown } = {
    transition(snapshot, event, scope) {
      const putOff: (() => void)[] = [];
      try {
        const next = logic.transition(snapshot, event, { ...scope, defer: (effect) => putOff.push(effect) });
        for (const effect of putOff) scope.defer(effect);
        return next;
      } catch (error) {
        return { ...stopped(logic, snapshot, scope), status: 'error', error };
      }
    },
    getInitialSnapshot(scope, input) {
      const first = logic.getInitialSnapshot({ ...scope, actionExecutor: watched(logic, scope) }, input);
      if (first.status === 'error') stopped(logic, first, scope);
      return first;
    },
  };
  if ('provide' in logic && typeof logic.provide === 'function') {
    const provide = logic.provide.bind(logic);
    own.provide = (implementations: unknown) => guarded(provide(implementations));
  }
  return Object.assign(Object.create(logic), own);
}

/** The snapshot after XState's own stop, which ends all children; a throw on the way must not hide the first one. */
function stopped(logic: AnyActorLogic, snapshot: AnySnapshot, scope: AnyActorScope): AnySnapshot {
  // At once: an actor that fails in its initial actions drops whatever it had put off.
  const atOnce: AnyActorScope = {
    ...scope,
    defer: (effect) => effect(),
    actionExecutor: ({ exec, info, params }) => exec?.(info, params),
  };
  try {
    return logic.transition(withUnborn(snapshot, scope), { type: 'xstate.stop' }, atOnce);
  } catch {
    return snapshot;
  }
}

/**
 * A child spawned by the failed transition is in no snapshot and was never started, yet it, or a child of its own,
 * may hold a system id. Stopped along with the others, it gives the id back.
 */
function withUnborn(snapshot: AnySnapshot, scope: AnyActorScope): AnySnapshot {
  if (!('children' in snapshot)) return snapshot;
  const children: Record<string, AnyActorRef> = {};
  for (const named of Object.values<AnyActorRef>(scope.system.getAll())) {
    let ref: AnyActorRef | undefined = named;
    while (ref && ref._parent !== scope.self) ref = ref._parent;
    if (ref) children[ref.id] = ref;
  }
  return { ...snapshot, children: { ...children, ...snapshot.children } };
}

/** Initial actions run after the initial children were started, and outside of any transition. */
function watched(logic: AnyActorLogic, scope: AnyActorScope): AnyActorScope['actionExecutor'] {
  return (action) => {
    const { exec } = action;
    scope.actionExecutor({
      ...action,
      exec: (info, params) => {
        try {
          exec?.(info, params);
        } catch (error) {
          stopped(logic, scope.self.getSnapshot(), scope);
          throw error;
        }
      },
    });
  };
}
