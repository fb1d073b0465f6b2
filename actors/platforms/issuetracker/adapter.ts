// Adapter for triggers of type IssueTracker: webhooks and automation rules, and answers as comments. Headers,
// proofs and API are specific to the tracker.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import type { Adapter, AdapterServices, OpenTrigger, TriggerHost } from '../adapter.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { TrackerAccess } from './access.ts';
import { acceptsEvent, addChecks } from './checks.ts';
import { readTrackerEvent, trackerAccount } from './event.ts';
import { issueTrackerOutbound } from './outbound.ts';
import { issueTrackerPath, type TrackerSubscriber } from './path.ts';
import { RefusedQueries } from './refused-queries.ts';
import { trackerProof } from './verifier.ts';

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
    async open(trigger: IssueTrackerTrigger, host: TriggerHost): Promise<OpenTrigger> {
      accessOf(trigger)?.own.learn();
      refused.begin(trigger.name);
      const verifier = await trackerProof(trigger);
      return { close: await table.add({ trigger, host, methods: ['POST'], verifier }, trigger.config.path) };
    },
    read: readTrackerEvent,
    addLookups: (event, triggers) => addChecks(accessOf, refused, event, triggers),
    accepts: (trigger, event) => acceptsEvent(accessOf, trigger, event),
    outbound: issueTrackerOutbound(accessOf, digestOf),
    diagnostics: ({ name }) => refused.of(name),
  };
}
