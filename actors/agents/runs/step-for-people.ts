// One step of a run as people are shown it; the page of the inspector knows it too.

import type { Usage } from '../../../machines/agent-run/journal.ts';

export interface ShownStep {
  readonly n: number;
  /** Epoch ms. */
  readonly at: number;
  /** As the row has it, also one of a later version. */
  readonly kind: string;
  /** The part of the run whose row it is: a node of a flow, a member of a fleet, `vote/security`. */
  readonly part?: string | undefined;
  readonly text?: string | undefined;
  readonly iteration?: number | undefined;
  readonly model?: string | undefined;
  readonly tokens?: Usage | undefined;
  readonly cost?: number | undefined;
  readonly tookMs?: number | undefined;
  /** Of a call. */
  readonly call?: string | undefined;
  readonly tool?: string | undefined;
  readonly arguments?: string | undefined;
  readonly result?: string | undefined;
  readonly state?: string | undefined;
  readonly approval?: string | undefined;
  readonly by?: string | undefined;
  /** What a node has given, as JSON text. */
  readonly output?: string | undefined;
  /** Nodes to which the connections lead that were taken. */
  readonly taken?: readonly string[] | undefined;
  /** Why it failed, or is tried again. */
  readonly reason?: string | undefined;
  /** Until when it waits, in epoch ms. */
  readonly until?: number | undefined;
  readonly waitingFor?: 'approval' | 'time' | undefined;
  /** Of a loop, from 1. */
  readonly turn?: number | undefined;
}
