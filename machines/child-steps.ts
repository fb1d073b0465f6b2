// Steps of the supervisor (supervisor.ts) for one child: start it, apply the restart policy, stop it, remove
// it. Each step enqueues its effects within a transition of the supervisor's machine and leaves the registry
// of children consistent. It updates the registry before it reports the change, so that listeners can read
// it. A removed child is stopped and its timers are cancelled.

import type { AnyActorRef, ProvidedActor, Spawner } from 'xstate';
import type { Child, ChildChange, ChildSpec } from './child.ts';
import { decideRestart, type Ending, isCounted, RestartLimitError, recentRestarts } from './policy.ts';
import type { SupervisorAction } from './supervisor-setup.ts';
import { isUnreachable } from './unreachable.ts';

/** Timer ids: the end of a restart's backoff, and the end of the time allowed for stopping. */
const dueId = (key: string) => `due:${key}`;
const overdueId = (key: string) => `overdue:${key}`;

const noRestarts = { restarts: [], uncounted: [] } as const;

/** Reports a change of the child to the listeners of the supervisor. */
function reportChange(
  step: SupervisorAction,
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
  step.enqueue({ type: 'report', params: change });
}

/** Adds or replaces the child in the registry. */
function storeChild(step: SupervisorAction, child: Child): void {
  step.enqueue.assign(({ context }) => ({ children: new Map(context.children).set(child.key, child) }));
}

/** Stops the child and removes it from the registry. */
function stopAndRemove(step: SupervisorAction, child: Child): void {
  step.enqueue.cancel(dueId(child.key));
  step.enqueue.cancel(overdueId(child.key));
  if (child.ref) step.enqueue.stopChild(child.ref);
  step.enqueue.assign(({ context }) => {
    const children = new Map(context.children);
    children.delete(child.key);
    return { children };
  });
}

/** Starts a child that is not in the registry yet. */
export function start(step: SupervisorAction, spec: ChildSpec): void {
  const initialState = { generation: 0, phase: 'up', ...noRestarts, lastError: undefined } as const;
  const inactive = { retryAt: undefined, parkedUntil: undefined, ref: undefined };
  spawn(step, { key: spec.key, spec, ...initialState, ...inactive }, 'started');
}

/** Restarts a child after its backoff: a live actor receives `due`, otherwise a new actor is spawned. */
export function resume(step: SupervisorAction, child: Child): void {
  if (child.phase !== 'waiting') return;
  if (!child.ref) {
    spawn(step, child, 'restarted');
    return;
  }
  const next: Child = { ...child, phase: 'up', retryAt: undefined };
  storeChild(step, next);
  step.enqueue.sendTo(child.ref, { type: 'due' });
  reportChange(step, next, 'restarted');
}

/**
 * Starts a child immediately, in every phase except `stopping`: a live actor receives `start`, otherwise a
 * new actor is spawned. Clears the restart history, unless the server is away: then a failed attempt parks it
 * again, instead of letting the calls wait for several attempts.
 */
export function wake(step: SupervisorAction, child: Child): void {
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
  step.enqueue.cancel(dueId(child.key));
  if (!child.ref) {
    spawn(step, next, 'woken');
    return;
  }
  storeChild(step, next);
  step.enqueue.sendTo(child.ref, { type: 'start' });
  reportChange(step, next, 'woken');
}

/** Spawns the next generation of the child. */
function spawn(step: SupervisorAction, old: Child, what: 'started' | 'restarted' | 'woken'): void {
  const { key, spec } = old;
  const systemId = `${step.context.path}/${key}`;
  const generation = step.context.lastGeneration + 1;
  const id = `${key}#${generation}`;
  const child: Child = { ...old, generation, phase: 'up', retryAt: undefined, parkedUntil: undefined };
  step.enqueue.assign({ lastGeneration: generation });
  // For a duplicate system id, XState would throw within this machine and stop all children.
  if (step.system.get(systemId) !== undefined) {
    applyPolicy(step, child, { kind: 'failed', error: new Error(`the actor name ${systemId} is in use`) });
    return;
  }
  step.enqueue.assign(({ context, spawn }) => {
    const input = { ...spec.input, key, generation };
    // Dynamic logic is not declared in `setup`.
    const spawnAny = spawn as unknown as Spawner<ProvidedActor>;
    const ref: AnyActorRef = spawnAny(spec.logic, { id, systemId, input });
    return { children: new Map(context.children).set(key, { ...child, ref }) };
  });
  // A new tool server starts only on demand: `wake` must start it immediately.
  if (what === 'woken') step.enqueue.sendTo(id, { type: 'start' });
  reportChange(step, child, what);
}

/**
 * Applies the policy to a child that has stopped or reported a failure. `child.ref` is set if the actor is
 * alive.
 */
export function applyPolicy(step: SupervisorAction, child: Child, ending: Ending): void {
  const { key, generation, ref } = child;
  const { policy } = child.spec;
  const now = step.context.now();
  const recent = recentRestarts(policy, child.restarts, now);
  const uncounted = recentRestarts(policy, child.uncounted, now);
  const decision = decideRestart(policy, ending, recent, now, step.context.random(), uncounted);
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
  step.enqueue.cancel(dueId(key));
  switch (decision.do) {
    case 'restart': {
      const { inMs } = decision;
      const times = isCounted(ending) ? { restarts: [...recent, now] } : { uncounted: [...uncounted, now] };
      const next: Child = { ...updated, ...times, phase: 'waiting', retryAt: now + inMs };
      storeChild(step, next);
      step.enqueue.raise({ type: 'child.due', key, generation }, { id: dueId(key), delay: inMs });
      reportChange(step, next, 'restarting', { inMs, ...failure });
      return;
    }
    case 'park': {
      const until = now + decision.forMs;
      storeChild(step, { ...updated, phase: 'parked', parkedUntil: until });
      if (ref) step.enqueue.sendTo(ref, { type: 'park', until, error: lastError });
      reportChange(step, updated, 'parked', { until, ...failure });
      return;
    }
    case 'forget':
      stopAndRemove(step, child);
      reportChange(step, child, 'ended', failure);
      return;
    case 'escalate': {
      stopAndRemove(step, child);
      reportChange(step, child, 'ended', failure);
      const name = `${step.context.path}/${key}`;
      const limit = `${policy.intensity} times within ${policy.periodMs} ms`;
      // Sent, not raised: XState then treats it as an unhandled error, stops all children and notifies the
      // parent.
      step.enqueue.sendTo(step.self, {
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
export function removeEnded(step: SupervisorAction, child: Child, ending: Ending): void {
  stopAndRemove(step, child);
  reportChange(step, child, 'stopped', ending.kind === 'failed' ? { error: ending.error } : {});
}

/** Asks a live child to stop and sets a deadline. A stopped child is removed immediately. */
export function askToStop(step: SupervisorAction, child: Child): void {
  if (child.phase === 'stopping') return;
  if (!child.ref) {
    stopAndRemove(step, child);
    reportChange(step, child, 'stopped');
    return;
  }
  const { key, generation } = child;
  storeChild(step, { ...child, phase: 'stopping', retryAt: undefined, parkedUntil: undefined });
  step.enqueue.cancel(dueId(key));
  const delay = child.spec.shutdownMs;
  step.enqueue.raise({ type: 'child.overdue', key, generation }, { id: overdueId(key), delay });
  step.enqueue.sendTo(child.ref, { type: 'shutdown' });
}

/** Terminates a child that exceeded its stop deadline. */
export function terminate(step: SupervisorAction, child: Child): void {
  if (child.phase !== 'stopping') return;
  stopAndRemove(step, child);
  reportChange(step, child, 'stopped', { wasCutOff: true });
}
