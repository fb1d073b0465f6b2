// The request behind `deliveries`. The gateway looks at a bounded number of records for one answer, so where few of
// very many match it is asked again, until there are as many as wanted or nothing is left. A terminal is told of it on
// stderr, by a line that is gone when the list comes.

import type { Command } from 'commander';
import type { DeliveryList, DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import { isTerminal } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import type { ApiResponse } from '../api/api-client.ts';
import { valuesOf } from './list-options.ts';
import type { Situation } from './operation.ts';

const DEFAULT_LIMIT = 50;
const filters = ['state', 'trigger', 'source', 'conversation', 'since', 'before', 'limit'];

export function declareFilter(command: Command): void {
  command
    .option(
      '--state <states>',
      'only these, by commas: queued, running, retrying, held, waiting, done, dead, ignored',
    )
    .option('--trigger <name>', 'only of this trigger')
    .option(
      '--source <platform>',
      'only from there: http, repohost, repohostb, repohostc, issuetracker, incidentmanager, botmessenger, chatworkspace, communitychat, businessmessenger, teamchat, schedule, manual; outbox: what is sent',
    )
    .option('--conversation <key>', 'only of conversations whose key begins so')
    .option('--since <time>', 'only those received since: a time, or a while ago such as 15m, 12h, 3d')
    .option('--before <seq>', 'the page after one that ended with this number')
    .option('--limit <count>', `at most this many (default: ${DEFAULT_LIMIT})`);
}

/** One answer as GET /deliveries gives it, put together of as many as it takes. Rejects with an ApiProblem. */
export async function askForDeliveries({ client, options, timeoutMs }: Situation): Promise<ApiResponse> {
  const query = valuesOf(options, filters);
  const ask = () => client.ask('GET', query.size === 0 ? 'deliveries' : `deliveries?${query}`, timeoutMs);
  const first = await ask();
  // A limit that is none was refused.
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  let { deliveries, next_before } = first.body as DeliveryList;
  if (next_before === null || deliveries.length >= limit) return first;
  const found: DeliveryRecord[] = [...deliveries];
  try {
    while (next_before !== null && found.length < limit) {
      tell(`looking further, before ${next_before}; ${found.length} found`);
      query.set('before', String(next_before));
      query.set('limit', String(limit - found.length));
      ({ deliveries, next_before } = (await ask()).body as DeliveryList);
      found.push(...deliveries);
    }
  } finally {
    tell('');
  }
  const body: DeliveryList = { deliveries: found, next_before };
  return { status: first.status, body, text: JSON.stringify(body) };
}

/** In place of what was told before. */
function tell(text: string): void {
  const { stderr } = process;
  if (isTerminal(stderr, process.env)) stderr.write(`\r\u001b[K${printable(text)}`);
}
