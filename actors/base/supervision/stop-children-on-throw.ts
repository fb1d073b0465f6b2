// Stops the children of a state machine if one of its actions throws. XState does not stop them
// (statelyai/xstate#5153), so the process of a server would survive a crash of its machine (A5,
// ARCHITECTURE.md). After an error in a transition or an initial action, no child runs or starts, and the
// actor's system id can be reused. The parent receives the same error. XState defers effects (sends, timers,
// starts) to the end of a transition; a failed transition drops them.
//
// Depends on internals of XState 5.33: `scope.defer`, `scope.actionExecutor`, the `xstate.stop` event and
// `_parent`. test/unit/actors/base/supervision/stop-children-on-throw.test.ts covers each; run it before an
// upgrade of XState.

import type { AnyActorLogic, AnyActorRef, AnyActorScope } from 'xstate';

type AnySnapshot = ReturnType<AnyActorLogic['transition']>;

/**
 * Returns actor logic that behaves like `logic`, and stops all children if it throws. A child that is a
 * callback actor runs its cleanup. If the returned machine is copied with `provide`, the copy does the same.
 */
export function stopChildrenOnThrow<L extends AnyActorLogic>(logic: L): L {
  const own: Partial<AnyActorLogic> & { provide?: unknown } = {
    transition(snapshot, event, scope) {
      const deferred: (() => void)[] = [];
      try {
        const next = logic.transition(snapshot, event, {
          ...scope,
          defer: (effect) => deferred.push(effect),
        });
        for (const effect of deferred) scope.defer(effect);
        return next;
      } catch (error) {
        return { ...stopChildren(logic, snapshot, scope), status: 'error', error };
      }
    },
    getInitialSnapshot(scope, input) {
      const first = logic.getInitialSnapshot(
        { ...scope, actionExecutor: stoppingExecutor(logic, scope) },
        input,
      );
      if (first.status === 'error') stopChildren(logic, first, scope);
      return first;
    },
  };
  if ('provide' in logic && typeof logic.provide === 'function') {
    const provide = logic.provide.bind(logic);
    own.provide = (implementations: unknown) => stopChildrenOnThrow(provide(implementations));
  }
  return Object.assign(Object.create(logic), own);
}

/**
 * Returns the snapshot after XState's own stop, which stops all children. Ignores errors, which must not hide
 * the first one.
 */
function stopChildren(logic: AnyActorLogic, snapshot: AnySnapshot, scope: AnyActorScope): AnySnapshot {
  // Runs the effects of the stop immediately: XState would drop deferred effects, if initial actions failed.
  const immediate: AnyActorScope = {
    ...scope,
    defer: (effect) => effect(),
    actionExecutor: ({ exec, info, params }) => exec?.(info, params),
  };
  try {
    return logic.transition(withUnstartedChildren(snapshot, scope), { type: 'xstate.stop' }, immediate);
  } catch {
    return snapshot;
  }
}

/**
 * Adds the children that the failed transition spawned. They are in no snapshot and never started. But they
 * or their children may have registered a system id, which is released when they stop. From each actor with a
 * system id, the loop follows `_parent` to the child of this actor that contains it.
 */
function withUnstartedChildren(snapshot: AnySnapshot, scope: AnyActorScope): AnySnapshot {
  if (!('children' in snapshot)) return snapshot;
  const children: Record<string, AnyActorRef> = {};
  for (const actor of Object.values<AnyActorRef>(scope.system.getAll())) {
    let ref: AnyActorRef | undefined = actor;
    while (ref && ref._parent !== scope.self) ref = ref._parent;
    if (ref) children[ref.id] = ref;
  }
  return { ...snapshot, children: { ...children, ...snapshot.children } };
}

/**
 * Returns an executor that stops the children if an initial action throws. Initial actions run outside of any
 * transition, when the initial children have started.
 */
function stoppingExecutor(logic: AnyActorLogic, scope: AnyActorScope): AnyActorScope['actionExecutor'] {
  return (action) => {
    const { exec } = action;
    scope.actionExecutor({
      ...action,
      exec: (info, params) => {
        try {
          exec?.(info, params);
        } catch (error) {
          stopChildren(logic, scope.self.getSnapshot(), scope);
          throw error;
        }
      },
    });
  };
}
