// Triggers of type IssueTracker: webhooks and rules of a tracker of issues, and comments as answers. The headers, the proofs and the
// API are those of the platform itself.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import type { Adapter, AdapterServices, OpenTrigger, SourceHost } from '../adapter.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { TrackerAccess } from './access.ts';
import { completed, takesChecked } from './checks.ts';
import { readTrackerEvent, trackerAccount } from './event.ts';
import { issueTrackerOutbound } from './outbound.ts';
import { issueTrackerPath, type TrackerSubscriber } from './path.ts';
import { trackerProof } from './proof.ts';
import { RefusedQueries } from './refused-queries.ts';

export function issueTrackerAdapter({
  maxBodyBytes,
  store,
  log,
}: AdapterServices): Adapter<IssueTrackerTrigger> {
  const table = new WebhookTable<TrackerSubscriber>(issueTrackerPath(maxBodyBytes));
  const { of: accessOf, digestOf } = new ClientsByCredential<IssueTrackerTrigger, TrackerAccess>(
    ({ config: { base_url, email, api_token } }) =>
      email === undefined || api_token === undefined ? undefined : [base_url, email, api_token],
    (trigger) => new TrackerAccess(trigger, store),
  );
  const refused = new RefusedQueries(log);
  return {
    type: 'IssueTracker',
    account: trackerAccount,
    async open(trigger: IssueTrackerTrigger, host: SourceHost): Promise<OpenTrigger> {
      accessOf(trigger)?.own.learn();
      refused.begin(trigger.name);
      const verifier = await trackerProof(trigger);
      return { close: await table.add({ trigger, host, methods: ['POST'], verifier }, trigger.config.path) };
    },
    read: readTrackerEvent,
    complete: (event, triggers) => completed(accessOf, refused, event, triggers),
    takes: (trigger, event) => takesChecked(accessOf, trigger, event),
    outbound: issueTrackerOutbound(accessOf, digestOf),
    remarks: ({ name }) => refused.of(name),
  };
}
