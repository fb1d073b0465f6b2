// Trigger details for operators: event source, menu, limits, diagnostics, last event, last rejected message.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { describeTriggerSource } from '../../../config/resources/triggers/trigger-source.ts';
import { within } from '../../base/time/within.ts';
import type { OutboundLimits } from '../../events/outbox/limits.ts';
import { type Adapter, accountOf, type MenuCommand } from '../../platforms/adapter.ts';
import type { Diagnostic } from '../../platforms/diagnostics.ts';
import type { Delivery, DeliveryFilter } from '../../store/delivery.ts';
import type { Store } from '../../store/store.ts';
import { CONVERSATION } from '../conversations/job.ts';

export interface TriggerDetails {
  /** Description of how events reach the trigger. */
  readonly sourceText: string;
  /** Menu of the account, with commands of every trigger; undefined if unsupported. */
  readonly menu: readonly MenuCommand[] | undefined;
  readonly limits: OutboundLimits | undefined;
  /** Newest first. */
  readonly remarks: readonly Diagnostic[];
  /** Undefined if the store does not respond. */
  readonly records: LastRecords | undefined;
}

export interface LastRecords {
  /** Last accepted event. */
  readonly event: Delivery | undefined;
  /** Last message that the platform rejected; postponed messages do not count. */
  readonly refused: Delivery | undefined;
}

/** Limit for store queries, so that a slow store hides only these records. */
const STORE_MS = 1_000;
const OUTBOX = 'outbox/';
/** Maximum number of pending messages that are searched for a rejection. */
const MAX_SEARCHED = 100;

/** Returns a trigger's details; `all` are the loaded triggers. Never rejects. */
export async function triggerDetails(
  trigger: Trigger,
  all: readonly Trigger[],
  adapter: Adapter,
  store: Pick<Store, 'deliveryPage'>,
): Promise<TriggerDetails> {
  return {
    // Without the URL of the gateway, a webhook is described by its path.
    sourceText: describeTriggerSource(trigger, '').text,
    menu: adapter.menu?.(ofAccount(trigger, all, adapter)),
    limits: adapter.outbound?.limits?.(trigger),
    remarks: adapter.diagnostics?.(trigger) ?? [],
    records: await lastRecords(trigger.name, store),
  };
}

/** Returns the trigger itself and its account's enabled triggers. */
function ofAccount(trigger: Trigger, all: readonly Trigger[], adapter: Adapter): readonly Trigger[] {
  const { account } = accountOf(adapter, trigger);
  return all.filter(
    (each) =>
      each.name === trigger.name ||
      (each.enabled && each.type === trigger.type && accountOf(adapter, each).account === account),
  );
}

async function lastRecords(
  trigger: string,
  store: Pick<Store, 'deliveryPage'>,
): Promise<LastRecords | undefined> {
  const newest = async (filter: Partial<DeliveryFilter>, limit: number) =>
    (await store.deliveryPage({ ...filter, trigger, limit })).deliveries;
  const queries = Promise.all([
    newest({ keyPrefix: CONVERSATION }, 1),
    newest({ keyPrefix: OUTBOX, states: ['dead'] }, 1),
    newest({ keyPrefix: OUTBOX, states: ['retrying'] }, MAX_SEARCHED),
  ]).then(
    ([[event], [dead], retrying]) => ({ event, refused: newer(dead, retrying.find(wasRefused)) }),
    () => undefined,
  );
  return within(STORE_MS, queries);
}

const wasRefused = ({ failures }: Delivery) => failures.length > 0;

const newer = (a: Delivery | undefined, b: Delivery | undefined) =>
  a === undefined || (b !== undefined && b.seq > a.seq) ? b : a;
