// Actions of the supervisor (supervisor.ts) for one child: start it, apply the restart policy, stop it,
// remove it. Each function enqueues its effects within a transition of the supervisor's machine and leaves
// the registry of children consistent. It updates the registry before it reports the change, so that
// listeners can read it. A removed child is stopped and its timers are cancelled.

import type { AnyActorRef, ProvidedActor, Spawner } from 'xstate';
import type { Child, ChildChange, ChildSpec } from './child.ts';
import { isUnreachable } from './external-failure.ts';
import { decideRestart, type Ending, isCounted, RestartLimitError, recentRestarts } from './policy.ts';
import type { SupervisorAction } from './supervisor-setup.ts';

/** Timer ids: for a restart's backoff, and for the time allowed for stopping. */
const dueId = (key: string) => `due:${key}`;
const overdueId = (key: string) => `overdue:${key}`;

/** `uncounted`: restarts after external failures (external-failure.ts). */
const noRestarts = { restarts: [], uncounted: [] } as const;

/** Reports a change of the child to the listeners of the supervisor. */
function reportChange(
  action: SupervisorAction,
  child: Child,
  what: ChildChange['what'],
  details: Partial<ChildChange> = {},
): void {
  const change = {
    key: child.key,
    generation: child.generation,
    what,
    restarts: child.restarts.length,
    ...details,
  };
  action.enqueue({ type: 'report', params: change });
}

/** Adds or replaces the child in the registry. */
function storeChild(action: SupervisorAction, child: Child): void {
  action.enqueue.assign(({ context }) => ({ children: new Map(context.children).set(child.key, child) }));
}

/** Stops the child and removes it from the registry. */
function stopAndRemove(action: SupervisorAction, child: Child): void {
  action.enqueue.cancel(dueId(child.key));
  action.enqueue.cancel(overdueId(child.key));
  if (child.ref) action.enqueue.stopChild(child.ref);
  action.enqueue.assign(({ context }) => {
    const children = new Map(context.children);
    children.delete(child.key);
    return { children };
  });
}

/** Starts a child that is not in the registry yet. */
export function start(action: SupervisorAction, spec: ChildSpec): void {
  const initialState = { generation: 0, phase: 'up', ...noRestarts, lastError: undefined } as const;
  const inactive = { retryAt: undefined, parkedUntil: undefined, ref: undefined };
  spawn(action, { key: spec.key, spec, ...initialState, ...inactive }, 'started');
}

/** Restarts a child after its backoff: a live actor receives `due`, otherwise a new actor is spawned. */
export function resume(action: SupervisorAction, child: Child): void {
  if (child.phase !== 'waiting') return;
  if (!child.ref) {
    spawn(action, child, 'restarted');
    return;
  }
  const next: Child = { ...child, phase: 'up', retryAt: undefined };
  storeChild(action, next);
  action.enqueue.sendTo(child.ref, { type: 'due' });
  reportChange(action, next, 'restarted');
}

/**
 * Starts a child immediately, in every phase except `stopping`: a live actor receives `start`, otherwise a
 * new actor is spawned. Clears the restart history, except after an unreachable failure
 * (external-failure.ts): then the next failure parks the child again, and its callers do not wait for several
 * attempts.
 */
export function wake(action: SupervisorAction, child: Child): void {
  if (child.phase === 'stopping') return;
  const { restarts } = isUnreachable(child.lastError) ? child : noRestarts;
  const next: Child = {
    ...child,
    phase: 'up',
    ...noRestarts,
    restarts,
    retryAt: undefined,
    parkedUntil: undefined,
  };
  action.enqueue.cancel(dueId(child.key));
  if (!child.ref) {
    spawn(action, next, 'woken');
    return;
  }
  storeChild(action, next);
  action.enqueue.sendTo(child.ref, { type: 'start' });
  reportChange(action, next, 'woken');
}

/** Spawns the next generation of the child. */
function spawn(action: SupervisorAction, old: Child, what: 'started' | 'restarted' | 'woken'): void {
  const { key, spec } = old;
  const systemId = `${action.context.path}/${key}`;
  const generation = action.context.lastGeneration + 1;
  const id = `${key}#${generation}`;
  const child: Child = { ...old, generation, phase: 'up', retryAt: undefined, parkedUntil: undefined };
  action.enqueue.assign({ lastGeneration: generation });
  // For a duplicate system id, XState would throw within this machine and stop all children.
  if (action.system.get(systemId) !== undefined) {
    applyPolicy(action, child, { kind: 'failed', error: new Error(`the actor name ${systemId} is in use`) });
    return;
  }
  action.enqueue.assign(({ context, spawn }) => {
    const input = { ...spec.input, key, generation };
    // Dynamic logic is not declared in `setup`.
    const spawnAny = spawn as unknown as Spawner<ProvidedActor>;
    const ref: AnyActorRef = spawnAny(spec.logic, { id, systemId, input });
    return { children: new Map(context.children).set(key, { ...child, ref }) };
  });
  // A new tool server starts only on demand: `wake` must start it immediately.
  if (what === 'woken') action.enqueue.sendTo(id, { type: 'start' });
  reportChange(action, child, what);
}

/**
 * Applies the policy to a child that has stopped or reported a failure. `child.ref` is set if the actor is
 * alive.
 */
export function applyPolicy(action: SupervisorAction, child: Child, ending: Ending): void {
  const { key, generation, ref } = child;
  const { policy } = child.spec;
  const now = action.context.now();
  const recent = recentRestarts(policy, child.restarts, now);
  const uncounted = recentRestarts(policy, child.uncounted, now);
  const decision = decideRestart(policy, ending, recent, now, action.context.random(), uncounted);
  const failure = ending.kind === 'failed' ? { error: ending.error } : {};
  const lastError = ending.kind === 'failed' ? ending.error : child.lastError;
  const updated: Child = {
    ...child,
    restarts: recent,
    uncounted,
    lastError,
    retryAt: undefined,
    parkedUntil: undefined,
  };
  action.enqueue.cancel(dueId(key));
  switch (decision.do) {
    case 'restart': {
      const { inMs } = decision;
      const times = isCounted(ending) ? { restarts: [...recent, now] } : { uncounted: [...uncounted, now] };
      const next: Child = { ...updated, ...times, phase: 'waiting', retryAt: now + inMs };
      storeChild(action, next);
      action.enqueue.raise({ type: 'child.due', key, generation }, { id: dueId(key), delay: inMs });
      reportChange(action, next, 'restarting', { inMs, ...failure });
      return;
    }
    case 'park': {
      const until = now + decision.forMs;
      storeChild(action, { ...updated, phase: 'parked', parkedUntil: until });
      if (ref) action.enqueue.sendTo(ref, { type: 'park', until, error: lastError });
      reportChange(action, updated, 'parked', { until, ...failure });
      return;
    }
    case 'forget':
      stopAndRemove(action, child);
      reportChange(action, child, 'ended', failure);
      return;
    case 'escalate': {
      stopAndRemove(action, child);
      reportChange(action, child, 'ended', failure);
      const name = `${action.context.path}/${key}`;
      const limit = `${policy.intensity} times within ${policy.periodMs} ms`;
      // Sent, not raised: XState then treats it as an unhandled error, stops all children and notifies the
      // parent.
      action.enqueue.sendTo(action.self, {
        type: 'xstate.error.actor.escalation',
        actorId: 'escalation',
        error: new RestartLimitError(`${name} was restarted ${limit} and failed again`, {
          cause: lastError,
        }),
      });
    }
  }
}

/** Removes a stopped child. */
export function removeEnded(action: SupervisorAction, child: Child, ending: Ending): void {
  stopAndRemove(action, child);
  reportChange(action, child, 'stopped', ending.kind === 'failed' ? { error: ending.error } : {});
}

/** Asks a live child to stop and sets a deadline. A stopped child is removed immediately. */
export function askToStop(action: SupervisorAction, child: Child): void {
  if (child.phase === 'stopping') return;
  if (!child.ref) {
    stopAndRemove(action, child);
    reportChange(action, child, 'stopped');
    return;
  }
  const { key, generation } = child;
  storeChild(action, { ...child, phase: 'stopping', retryAt: undefined, parkedUntil: undefined });
  action.enqueue.cancel(dueId(key));
  const delay = child.spec.shutdownMs;
  action.enqueue.raise({ type: 'child.overdue', key, generation }, { id: overdueId(key), delay });
  action.enqueue.sendTo(child.ref, { type: 'shutdown' });
}

/** Terminates a child that exceeded its stop deadline. */
export function terminate(action: SupervisorAction, child: Child): void {
  if (child.phase !== 'stopping') return;
  stopAndRemove(action, child);
  reportChange(action, child, 'stopped', { wasCutOff: true });
}
