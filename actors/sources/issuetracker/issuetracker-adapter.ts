// Triggers of type IssueTracker: webhooks and rules of a tracker of issues. The headers, the proofs and the API are those of the
// platform itself.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Adapter, OpenTrigger, SourceHost } from '../adapter.ts';
import { WebhookTable } from '../webhook-table.ts';
import { readTrackerEvent, trackerAccount } from './issuetracker-event.ts';
import { takesTrackerEvent } from './issuetracker-filter.ts';
import { issueTrackerPath, type TrackerSubscriber } from './issuetracker-path.ts';
import { trackerProof } from './tracker-proof.ts';

export interface IssueTrackerOptions {
  readonly maxBodyBytes: number;
  /** For how long what was signed is known under other ids too, where a trigger does not say so. @default 0 */
  readonly replayWindowMs?: number;
}

export function issueTrackerAdapter({
  maxBodyBytes,
  replayWindowMs = 0,
}: IssueTrackerOptions): Adapter<IssueTrackerTrigger> {
  const table = new WebhookTable<TrackerSubscriber>(issueTrackerPath(maxBodyBytes, replayWindowMs));
  return {
    type: 'IssueTracker',
    account: trackerAccount,
    async open(trigger: IssueTrackerTrigger, host: SourceHost): Promise<OpenTrigger> {
      const verifier = await trackerProof(trigger);
      return { close: await table.add({ trigger, host, methods: ['POST'], verifier }, trigger.config.path) };
    },
    read: readTrackerEvent,
    takes: (trigger, event) =>
      // Nothing here can ask the tracker yet, and no event is taken unasked.
      takesTrackerEvent(trigger, event) && trigger.config.jql_filter === undefined,
  };
}
