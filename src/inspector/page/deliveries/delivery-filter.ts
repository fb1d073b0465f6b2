// The filter over the list of deliveries: words that are states, and the name of a trigger, as somebody types them; and the query that
// stands for both in the address of the list.

import type { DeliveryRecord } from '../../../http/api/delivery-shapes.ts';

export const deliveryStates = [
  'queued',
  'running',
  'retrying',
  'held',
  'waiting',
  'done',
  'dead',
  'ignored',
] as const satisfies readonly DeliveryRecord['state'][];

const PAGE = 50;
const isState = (word: string) => (deliveryStates as readonly string[]).includes(word);

/** `dead`, `dead waiting`, `orders dead`; a trigger's name may have been typed in part, as long as only one begins so. */
export function queryOf(text: string, triggers: readonly string[]): string {
  const words = text.split(/[\s,]+/).filter(Boolean);
  const states = words.filter((word) => isState(word.toLowerCase())).map((word) => word.toLowerCase());
  const name = words.filter((word) => !isState(word.toLowerCase())).join(' ');
  const query = new URLSearchParams();
  if (states.length > 0) query.set('state', [...new Set(states)].join(','));
  if (name !== '') query.set('trigger', triggerMeant(name, triggers));
  return query.toString();
}

function triggerMeant(name: string, triggers: readonly string[]): string {
  if (triggers.includes(name)) return name;
  const [only, ...others] = triggers.filter((each) => each.startsWith(name));
  return only === undefined || others.length > 0 ? name : only;
}

/** What stands in the field for a query. */
export function textOf(query: string): string {
  const asked = new URLSearchParams(query);
  return [...(asked.get('state')?.split(',') ?? []), asked.get('trigger') ?? ''].filter(Boolean).join(' ');
}

/** What is asked of the gateway: of the parameters of a query those that a list has. */
export function askedBy(query: string): URLSearchParams {
  const given = new URLSearchParams(query);
  const asked = new URLSearchParams({ limit: `${PAGE}` });
  for (const name of ['state', 'trigger', 'before']) {
    const value = given.get(name);
    if (value !== null && value !== '') asked.set(name, value);
  }
  return asked;
}

/** The same list from another place on; undefined: from the newest. */
export function queryFrom(query: string, before: number | undefined): string {
  const asked = new URLSearchParams(query);
  if (before === undefined) asked.delete('before');
  else asked.set('before', `${before}`);
  return asked.toString();
}
