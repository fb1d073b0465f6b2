// What the work on conversations needs to know of triggers and agents, and may have done. It changes with a reload, between two events.

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { Handler } from '../../agents/handlers/handler.ts';
import type { RunFeed } from '../../agents/runs/run-feed.ts';
import type { Outcome } from '../../events/inbox/work.ts';
import type { Adapter } from '../../platforms/adapter.ts';
import type { TriggerLookup } from '../triggers/event-triggers.ts';
import type { BuiltInHost } from './built-in-answers.ts';
import type { HandlerServices } from './run-context.ts';

export interface Routing extends TriggerLookup, BuiltInHost {
  adapterOf(platform: string): Adapter | undefined;
  isPaused(name: string): boolean;
  /** Ends an event that waits, as ignored, with that note; false for any other. */
  discard(id: string, note: string): Promise<boolean>;
  /** An event is held by that trigger now. */
  onHeld(trigger: string): void;
  handlerOf(target: Target): Handler | undefined;
  /** Of one attempt at most; undefined for one that is not there. */
  attemptSecondsOf(target: Target): number | undefined;
  readonly services: HandlerServices;
  /** Undefined where nobody can look. */
  readonly feed?: RunFeed | undefined;
  /** An attempt of this trigger has ended so. */
  count(trigger: string, kind: Outcome['kind']): void;
  /** The longest of all triggers, in milliseconds. */
  readonly longestTimeoutMs: number;
}
