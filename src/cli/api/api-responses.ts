// What the HTTP API answers, as docs/http-api.md describes it; the types are those of the code that writes it.

import type { approvalRecord } from '../../http/api/approval-records.ts';
import type { AutomationStats } from '../../http/api/automation-figures.ts';
import type {
  agentRecord,
  deliveryDetails,
  deliveryRecord,
  runRecord,
  triggerDetails,
  triggerRecord,
} from '../../http/api/automation-records.ts';
import type { fleetRecord, flowDetails, flowRecord } from '../../http/api/flow-records.ts';
import type { NodesAnswer } from '../../http/api/nodes-answer.ts';
import type { ProfileStats } from '../../http/api/profile-figures.ts';
import type { serverStats } from '../../http/api/records.ts';
import type {
  answerRecord,
  runDetails,
  runRecord as runLine,
  stepRecord,
} from '../../http/api/run-records.ts';
import type { ServerDetails, ServerRecord } from '../../http/api/server-shapes.ts';

export type { ServerDetails, ServerRecord };

export interface ServerList {
  readonly servers: readonly ServerRecord[];
}

export type ServerStats = ReturnType<typeof serverStats>;

/** The rest is there where there are triggers. */
export interface Stats extends Partial<AutomationStats> {
  /** Which one has answered, where several gateways share a store. */
  readonly node?: string;
  readonly uptime_seconds: number;
  readonly requests: { readonly total: number; readonly failed: number; readonly in_flight: number };
  readonly sessions: number;
  readonly listens: number;
  readonly servers: Readonly<Record<string, ServerStats>>;
  /** Where there are any. */
  readonly profiles?: Readonly<Record<string, ProfileStats>>;
}

export type { NodesAnswer };

export const pathOf = (id: string): string => `servers/${encodeURIComponent(id)}`;

export type TriggerRecord = ReturnType<typeof triggerRecord>;

export type TriggerDetails = ReturnType<typeof triggerDetails>;

export interface TriggerList {
  readonly triggers: readonly TriggerRecord[];
}

export type AgentRecord = ReturnType<typeof agentRecord>;

export type FleetRecord = ReturnType<typeof fleetRecord>;

export type FlowRecord = ReturnType<typeof flowRecord>;

/** GET /flows/:name. */
export type FlowDetails = ReturnType<typeof flowDetails>;

export type DeliveryRecord = ReturnType<typeof deliveryRecord>;

export type DeliveryDetails = ReturnType<typeof deliveryDetails>;

export interface DeliveryList {
  readonly deliveries: readonly DeliveryRecord[];
  /** For --before; null at the end. */
  readonly next_before: number | null;
}

/** POST /triggers/:name/send. */
export interface SendResponse {
  readonly deliveries: readonly string[];
}

export type RunResponse = ReturnType<typeof runRecord>;

export type RunRecord = ReturnType<typeof runLine>;

export interface RunList {
  readonly runs: readonly RunRecord[];
  /** For --before; null at the end. */
  readonly next_before: number | null;
}

export type ApprovalRecord = ReturnType<typeof approvalRecord>;

export interface ApprovalList {
  readonly approvals: readonly ApprovalRecord[];
  /** For --before; null at the end. */
  readonly next_before: string | null;
}

export type RunDetails = ReturnType<typeof runDetails>;

/** Of a flow, and of a fleet, as they are in their runs. */
export type NodeRecord = NonNullable<RunDetails['nodes']>[number];

export type MemberRecord = NonNullable<RunDetails['members']>[number];

export type StepRecord = ReturnType<typeof stepRecord>;

/** POST /agents/:name/runs, and the end of its events. */
export type RunAnswer = ReturnType<typeof answerRecord>;

/** POST /inspector/links. */
export interface EntryLink {
  readonly path: string;
  readonly expires_in_seconds: number;
}
