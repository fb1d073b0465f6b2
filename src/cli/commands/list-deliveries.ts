// Requests the list for `deliveries`. For each response the gateway scans a limited number of records, so
// this file requests further pages until --limit is reached or the list is complete. Meanwhile a terminal
// shows a status line.

import type { Command } from 'commander';
import type { DeliveryList, DeliveryRecord } from '../../http/api/delivery-shapes.ts';
import { isTerminal } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import type { GatewayResponse } from '../api/client.ts';
import type { CommandContext } from './operation.ts';
import { queryParameters } from './query-options.ts';

const DEFAULT_LIMIT = 50;
const filters = ['state', 'trigger', 'source', 'conversation', 'since', 'before', 'limit'];

export function declareFilter(command: Command): void {
  command
    .option(
      '--state <states>',
      'only these states, separated by commas: queued, running, retrying, held, waiting, done, dead, ignored',
    )
    .option('--trigger <name>', 'only deliveries of this trigger')
    .option(
      '--source <platform>',
      'only from this platform: http, repohost, repohostb, repohostc, issuetracker, incidentmanager, botmessenger, chatworkspace, communitychat, businessmessenger, teamchat, schedule, manual; outbox: sent messages',
    )
    .option('--conversation <key>', 'only conversations whose key starts with this')
    .option('--since <time>', 'only received since: a time, or a duration such as 15m, 12h, 3d')
    .option('--before <seq>', 'return deliveries before this sequence number')
    .option('--limit <count>', `maximum number of rows (default: ${DEFAULT_LIMIT})`);
}

/** Returns a single response in the shape of GET /deliveries. Rejects with an ApiProblem. */
export async function requestDeliveries({
  client,
  options,
  timeoutMs,
}: CommandContext): Promise<GatewayResponse> {
  const query = queryParameters(options, filters);
  const requestPage = () =>
    client.request('GET', query.size === 0 ? 'deliveries' : `deliveries?${query}`, timeoutMs);
  const first = await requestPage();
  // The gateway has rejected an invalid limit with the first request.
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  let { deliveries, next_before } = first.body as DeliveryList;
  if (next_before === null || deliveries.length >= limit) return first;
  const records: DeliveryRecord[] = [...deliveries];
  try {
    while (next_before !== null && records.length < limit) {
      showStatus(`requesting deliveries before ${next_before}; ${records.length} found`);
      query.set('before', String(next_before));
      query.set('limit', String(limit - records.length));
      ({ deliveries, next_before } = (await requestPage()).body as DeliveryList);
      records.push(...deliveries);
    }
  } finally {
    showStatus('');
  }
  const body: DeliveryList = { deliveries: records, next_before };
  return { status: first.status, body, text: JSON.stringify(body) };
}

/** Replaces the status line. */
function showStatus(text: string): void {
  const { stderr } = process;
  if (isTerminal(stderr, process.env)) stderr.write(`\r\u001b[K${printable(text)}`);
}
