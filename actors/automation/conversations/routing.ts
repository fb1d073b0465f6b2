// Interface of the automation for conversation work (work.ts): triggers, targets and operations. A reload
// changes them between two events.

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { Handler } from '../../agents/handlers/handler.ts';
import type { RunFeed } from '../../agents/runs/feed.ts';
import type { WorkOutcome } from '../../events/inbox/work.ts';
import type { Adapter } from '../../platforms/adapter.ts';
import type { TriggerLookup } from '../triggers/event-triggers.ts';
import type { BuiltInHost } from './built-in-answers.ts';
import type { HandlerServices } from './run-context.ts';

export interface Routing extends TriggerLookup, BuiltInHost {
  adapterOf(platform: string): Adapter | undefined;
  isPaused(name: string): boolean;
  /** Discards an event that is not running, with a note; returns false for other events. */
  discard(id: string, note: string): Promise<boolean>;
  /** Called when an event is held because its trigger is paused. */
  onHeld(trigger: string): void;
  handlerOf(target: Target): Handler | undefined;
  /** Maximum duration per attempt; undefined for unknown targets. */
  attemptSecondsOf(target: Target): number | undefined;
  readonly services: HandlerServices;
  /** Live events for API clients; undefined if clients cannot watch. */
  readonly feed?: RunFeed | undefined;
  /** Counts a finished attempt. */
  count(trigger: string, kind: WorkOutcome['kind']): void;
  /** Longest trigger timeout, in milliseconds. */
  readonly longestTimeoutMs: number;
}
