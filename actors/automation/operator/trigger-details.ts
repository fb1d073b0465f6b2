// One trigger as an operator looks at it who wants to know how it does: beside its state what came last, what its platform has
// refused last, its menu and its limits.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { wayInTo } from '../../../config/resources/triggers/way-in.ts';
import type { OutboundLimits } from '../../events/outbox/limits.ts';
import { type Adapter, accountOf, type MenuCommand } from '../../platforms/adapter.ts';
import type { Remark } from '../../platforms/remarks.ts';
import type { Delivery, DeliveryFilter } from '../../store/delivery.ts';
import type { Store } from '../../store/store.ts';
import { CONVERSATION } from '../conversations/conversation-job.ts';

export interface TriggerDetails {
  /** How events come to it. */
  readonly wayIn: string;
  /** Of its account, so with the commands of others; undefined where its platform has none. */
  readonly menu: readonly MenuCommand[] | undefined;
  readonly limits: OutboundLimits | undefined;
  /** The newest first. */
  readonly remarks: readonly Remark[];
  /** Undefined where nobody knows, since the store does not answer. */
  readonly records: LastRecords | undefined;
}

export interface LastRecords {
  /** The event that it took last. */
  readonly event: Delivery | undefined;
  /** The message that it sent last of those that the platform has not taken; one that was only put off is none. */
  readonly refused: Delivery | undefined;
}

/** A store that hangs must not hide all the rest. */
const STORE_MS = 1_000;
const OUTBOX = 'outbox/';
/** Messages that are to be sent yet, in which one is looked for that was refused. */
const MAX_LOOKED_AT = 100;

/** `all` are the triggers that are loaded. Never rejects. */
export async function triggerDetails(
  trigger: Trigger,
  all: readonly Trigger[],
  adapter: Adapter,
  store: Pick<Store, 'deliveryPage'>,
): Promise<TriggerDetails> {
  return {
    wayIn: wayInTo(trigger, '').text,
    menu: adapter.menu?.(ofAccount(trigger, all, adapter)),
    limits: adapter.outbound?.limits?.(trigger),
    remarks: adapter.remarks?.(trigger) ?? [],
    records: await lastRecords(trigger.name, store),
  };
}

/** Those that are switched on, and the trigger itself. */
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
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), STORE_MS);
  });
  const found = Promise.all([
    newest({ keyPrefix: CONVERSATION }, 1),
    newest({ keyPrefix: OUTBOX, states: ['dead'] }, 1),
    newest({ keyPrefix: OUTBOX, states: ['retrying'] }, MAX_LOOKED_AT),
  ]).then(
    ([[event], [dead], retrying]) => ({ event, refused: newer(dead, retrying.find(wasRefused)) }),
    () => undefined,
  );
  const records = await Promise.race([found, late]);
  clearTimeout(timer);
  return records;
}

const wasRefused = ({ failures }: Delivery) => failures.length > 0;

const newer = (a: Delivery | undefined, b: Delivery | undefined) =>
  a === undefined || (b !== undefined && b.seq > a.seq) ? b : a;
