// Filter of the delivery list: states and a trigger name. Converts the typed text to the query of the address
// and back.

import type { DeliveryRecord } from '../../../http/api/delivery-shapes.ts';
import { listParams, withParam } from '../list-query.ts';

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

/** Deliveries per page. */
const PAGE = 50;
const isState = (term: string) => (deliveryStates as readonly string[]).includes(term);

/**
 * Returns the query for a text such as `dead waiting` or `orders dead`. Completes unique prefixes of trigger
 * names.
 */
export function parseFilter(text: string, triggers: readonly string[]): string {
  const terms = text.split(/[\s,]+/).filter(Boolean);
  const states = terms.filter((term) => isState(term.toLowerCase())).map((term) => term.toLowerCase());
  const name = terms.filter((term) => !isState(term.toLowerCase())).join(' ');
  const query = new URLSearchParams();
  if (states.length > 0) query.set('state', [...new Set(states)].join(','));
  if (name !== '') query.set('trigger', completeTrigger(name, triggers));
  return query.toString();
}

function completeTrigger(name: string, triggers: readonly string[]): string {
  if (triggers.includes(name)) return name;
  const [only, ...others] = triggers.filter((each) => each.startsWith(name));
  return only === undefined || others.length > 0 ? name : only;
}

/** Returns the text of the filter field for a query. */
export function filterText(query: string): string {
  const params = new URLSearchParams(query);
  return [...(params.get('state')?.split(',') ?? []), params.get('trigger') ?? ''].filter(Boolean).join(' ');
}

/** Returns the parameters of GET /deliveries for a query; other parameters are ignored. */
export function requestParams(query: string): URLSearchParams {
  return listParams(query, ['state', 'trigger', 'before'], PAGE);
}

/** Returns the query for the page preceding a delivery; for the newest page if `before` is undefined. */
export function pageQuery(query: string, before: number | undefined): string {
  return withParam(query, 'before', before === undefined ? '' : `${before}`);
}
