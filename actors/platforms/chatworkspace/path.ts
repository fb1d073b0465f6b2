// What the platform sends to a path, signed: events as JSON, slash commands and presses as forms. Triggers of several apps may share
// a path; their secrets tell them apart.
//
// Whatever is authentic is answered 2xx when it is durable, or nothing to keep. What comes as a form is answered 200 without a
// body: the platform shows people what stands in it.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Appended } from '../../store/store.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import type { Verified } from '../webhooks/verified-subscribers.ts';
import type { WebhookReply } from '../webhooks/webhook.ts';
import { malformed, takenReply } from '../webhooks/webhook-replies.ts';
import type { PathUse, WebhookSubscriber } from '../webhooks/webhook-table.ts';
import type { WorkspaceAccount } from './account.ts';
import type { TakenPayload, WorkspaceInbox } from './inbox.ts';

export interface WorkspaceSubscriber extends WebhookSubscriber<ChatWorkspaceTrigger> {
  readonly account: WorkspaceAccount;
  readonly inbox: WorkspaceInbox;
}

const EMPTY: WebhookReply = { status: 200 };

export function chatWorkspacePath(maxBodyBytes: number): PathUse<WorkspaceSubscriber> {
  return {
    maxBodyBytes,
    unauthorised: 'X-Slack-Signature is missing, too old, or fits no signing_secret of this path',
    async receive(verified, { headers }, body) {
      if (isForm(headers['content-type'], body)) return receivedForm(verified, body);
      const payload = jsonObjectIn(body);
      if (payload === undefined) return malformed('the body is no JSON object');
      const { challenge } = payload;
      if (payload.type === 'url_verification')
        return typeof challenge === 'string'
          ? { status: 200, body: { challenge } }
          : malformed('there is no challenge');
      const taken = await takenBy(verified, { kind: 'events_api', payload });
      return taken === undefined
        ? { status: 200, body: { status: 'ignored' } }
        : takenReply(taken.id, { accepted: taken });
    },
  };
}

async function receivedForm(verified: Verified<WorkspaceSubscriber>, body: Buffer): Promise<WebhookReply> {
  const form = new URLSearchParams(body.toString('utf8'));
  const said = form.get('payload');
  if (said === null) {
    await takenBy(verified, { kind: 'slash_commands', payload: Object.fromEntries(form) });
    return EMPTY;
  }
  const payload = jsonObjectIn(Buffer.from(said));
  if (payload === undefined) return malformed('the payload of the form is no JSON object');
  await takenBy(verified, { kind: 'interactive', payload });
  return EMPTY;
}

/** For each app once; nearly always there is one. */
async function takenBy(
  { subscribers, principal }: Verified<WorkspaceSubscriber>,
  come: Pick<TakenPayload, 'kind' | 'payload'>,
): Promise<Appended | undefined> {
  const accounts = new Set(subscribers.map(({ account }) => account));
  let first: Appended | undefined;
  for (const account of accounts) {
    const ofApp = subscribers.filter((each) => each.account === account);
    const names = [...new Set(ofApp.map(({ trigger }) => trigger.name))];
    // While a trigger is exchanged it is there twice, the newer first.
    const newest = names.flatMap((name) => ofApp.find(({ trigger }) => trigger.name === name) ?? []);
    const triggers = newest.map(({ trigger }) => trigger);
    const taken = await newest[0]?.inbox.take({ ...come, triggers, principal });
    first ??= taken;
  }
  return first;
}

/** What says that it is JSON is none; what says nothing is looked at. */
function isForm(type: string | undefined, body: Buffer): boolean {
  if (type !== undefined) return /^\s*application\/x-www-form-urlencoded\b/i.test(type);
  return /^(payload|command|token)=/.test(body.toString('latin1', 0, 16));
}
