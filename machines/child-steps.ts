// The steps of a supervisor about one child: start it, carry out the verdict on its end, ask it to stop, drop it. Each
// is a few effects within a transition of the supervisor's machine (supervisor.ts), and leaves the registry consistent.
//
// What has come of a child is reported after the registry says so: whoever hears of it may look there.
//
// CHS1 (V1)  what is dropped from the registry is stopped, and its timers are cancelled.

import type { AnyActorRef, ProvidedActor, Spawner } from 'xstate';
import type { Change, Child, ChildSpec } from './child.ts';
import { type Ending, RestartLimitError, recentRestarts, verdict } from './policy.ts';
import type { Step } from './supervisor-setup.ts';

const dueId = (key: string) => `due:${key}`;
const overdueId = (key: string) => `overdue:${key}`;

function report(step: Step, child: Child, what: Change['what'], more: Partial<Change> = {}): void {
  const change = {
    key: child.key,
    generation: child.generation,
    what,
    restarts: child.restarts.length,
    ...more,
  };
  step.enqueue({ type: 'report', params: change });
}

function keep(step: Step, child: Child): void {
  step.enqueue.assign(({ context }) => ({ children: new Map(context.children).set(child.key, child) }));
}

/** Ends what is left of the child and drops it from the registry. */
function forget(step: Step, child: Child): void {
  step.enqueue.cancel(dueId(child.key));
  step.enqueue.cancel(overdueId(child.key));
  if (child.ref) step.enqueue.stopChild(child.ref);
  step.enqueue.assign(({ context }) => {
    const children = new Map(context.children);
    children.delete(child.key);
    return { children };
  });
}

/** A child that nobody knows yet. */
export function start(step: Step, spec: ChildSpec): void {
  const fresh = { generation: 0, phase: 'up', restarts: [], lastError: undefined } as const;
  const gone = { retryAt: undefined, parkedUntil: undefined, ref: undefined };
  spawn(step, { key: spec.key, spec, ...fresh, ...gone }, 'started');
}

/** The pause of a child is over: one that lives on may start again, one that is gone is spawned anew. */
export function resume(step: Step, child: Child): void {
  if (child.phase !== 'waiting') return;
  if (!child.ref) {
    spawn(step, child, 'restarted');
    return;
  }
  const next: Child = { ...child, phase: 'up', retryAt: undefined };
  keep(step, next);
  step.enqueue.sendTo(child.ref, { type: 'due' });
  report(step, next, 'restarted');
}

/** Starts a child whatever it waits for, with a clean slate. */
export function wake(step: Step, child: Child): void {
  if (child.phase === 'stopping') return;
  const next: Child = { ...child, phase: 'up', restarts: [], retryAt: undefined, parkedUntil: undefined };
  step.enqueue.cancel(dueId(child.key));
  if (!child.ref) {
    spawn(step, next, 'woken');
    return;
  }
  keep(step, next);
  step.enqueue.sendTo(child.ref, { type: 'start' });
  report(step, next, 'woken');
}

function spawn(step: Step, old: Child, what: 'started' | 'restarted' | 'woken'): void {
  const { key, spec } = old;
  const systemId = `${step.context.path}/${key}`;
  const generation = step.context.lastGeneration + 1;
  const id = `${key}#${generation}`;
  const child: Child = { ...old, generation, phase: 'up', retryAt: undefined, parkedUntil: undefined };
  step.enqueue.assign({ lastGeneration: generation });
  // XState would throw within this machine, and so end every child of it.
  if (step.system.get(systemId) !== undefined) {
    settle(step, child, { kind: 'failed', error: new Error(`the actor name ${systemId} is taken`) });
    return;
  }
  step.enqueue.assign(({ context, spawn }) => {
    const input = { ...spec.input, key, generation };
    // Dynamic logic has no place among the actors that `setup` knows.
    const spawnAny = spawn as unknown as Spawner<ProvidedActor>;
    const ref: AnyActorRef = spawnAny(spec.logic, { id, systemId, input });
    return { children: new Map(context.children).set(key, { ...child, ref }) };
  });
  if (what === 'woken') step.enqueue.sendTo(id, { type: 'start' });
  report(step, child, what);
}

/** Carries out the verdict on a child that has ended, or has told of a failure; `child.ref` is the actor where it is still alive. */
export function settle(step: Step, child: Child, ending: Ending): void {
  const { key, generation, ref } = child;
  const { policy } = child.spec;
  const now = step.context.now();
  const recent = recentRestarts(policy, child.restarts, now);
  const given = verdict(policy, ending, recent, now, step.context.random());
  const failure = ending.kind === 'failed' ? { error: ending.error } : {};
  const lastError = ending.kind === 'failed' ? ending.error : child.lastError;
  const judged: Child = { ...child, restarts: recent, lastError, retryAt: undefined, parkedUntil: undefined };
  step.enqueue.cancel(dueId(key));
  switch (given.do) {
    case 'restart': {
      const { inMs } = given;
      const next: Child = { ...judged, phase: 'waiting', restarts: [...recent, now], retryAt: now + inMs };
      keep(step, next);
      step.enqueue.raise({ type: 'child.due', key, generation }, { id: dueId(key), delay: inMs });
      report(step, next, 'restarting', { inMs, ...failure });
      return;
    }
    case 'park': {
      const until = now + given.forMs;
      keep(step, { ...judged, phase: 'parked', parkedUntil: until });
      if (ref) step.enqueue.sendTo(ref, { type: 'park', until, error: lastError });
      report(step, judged, 'parked', { until, ...failure });
      return;
    }
    case 'forget':
      forget(step, child);
      report(step, child, 'ended', failure);
      return;
    case 'escalate': {
      forget(step, child);
      report(step, child, 'ended', failure);
      const name = `${step.context.path}/${key}`;
      const limit = `${policy.intensity} times within ${policy.periodMs} ms`;
      // Sent, not raised: only then XState takes it for an unhandled error, stops all children and tells our parent.
      step.enqueue.sendTo(step.self, {
        type: 'xstate.error.actor.escalation',
        actorId: 'escalation',
        error: new RestartLimitError(`${name} was restarted ${limit}, and failed again`, {
          cause: lastError,
        }),
      });
    }
  }
}

/** A child that was not to come back has ended. */
export function bury(step: Step, child: Child, ending: Ending): void {
  forget(step, child);
  report(step, child, 'stopped', ending.kind === 'failed' ? { error: ending.error } : {});
}

/** Asks a live child to end, and sets its deadline; one that is not alive is simply forgotten. */
export function askToStop(step: Step, child: Child): void {
  if (child.phase === 'stopping') return;
  if (!child.ref) {
    forget(step, child);
    report(step, child, 'stopped');
    return;
  }
  const { key, generation } = child;
  keep(step, { ...child, phase: 'stopping', retryAt: undefined, parkedUntil: undefined });
  step.enqueue.cancel(dueId(key));
  const delay = child.spec.shutdownMs;
  step.enqueue.raise({ type: 'child.overdue', key, generation }, { id: overdueId(key), delay });
  step.enqueue.sendTo(child.ref, { type: 'shutdown' });
}

/** The time of a child that was asked to stop is over. */
export function cutOff(step: Step, child: Child): void {
  if (child.phase !== 'stopping') return;
  forget(step, child);
  report(step, child, 'stopped', { wasCutOff: true });
}
