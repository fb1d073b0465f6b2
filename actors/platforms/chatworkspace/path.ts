// Webhook endpoint: receives events as JSON, slash commands and interactions as forms. Triggers of several
// apps may share a path; the signing secret identifies the app.
//
// A verified request gets a 2xx response once its event is durable or ignored. The response to a form has no
// body, because the platform would show it to the user.

import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { AppendOutcome } from '../../store/store.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import type { VerifiedRequest } from '../webhooks/verified-subscribers.ts';
import type { WebhookReply } from '../webhooks/webhook.ts';
import { acceptanceReply, malformed } from '../webhooks/webhook-replies.ts';
import type { PathHandler, WebhookSubscriber } from '../webhooks/webhook-table.ts';
import type { WorkspaceAccount } from './account.ts';
import type { IncomingPayload, WorkspaceInbox } from './inbox.ts';

export interface WorkspaceSubscriber extends WebhookSubscriber<ChatWorkspaceTrigger> {
  readonly account: WorkspaceAccount;
  readonly inbox: WorkspaceInbox;
}

const EMPTY: WebhookReply = { status: 200 };

export function chatWorkspacePath(maxBodyBytes: number): PathHandler<WorkspaceSubscriber> {
  return {
    maxBodyBytes,
    unauthorisedText:
      'X-Slack-Signature is missing, too old, or does not match a signing_secret of this path',
    async receive(verified, { headers }, body) {
      if (isForm(headers['content-type'], body)) return receiveForm(verified, body);
      const payload = jsonObjectIn(body);
      if (payload === undefined) return malformed('the body is not a JSON object');
      const { challenge } = payload;
      if (payload.type === 'url_verification')
        return typeof challenge === 'string'
          ? { status: 200, body: { challenge } }
          : malformed('challenge is missing');
      const accepted = await acceptForApps(verified, { kind: 'events_api', payload });
      return accepted === undefined
        ? { status: 200, body: { status: 'ignored' } }
        : acceptanceReply(accepted);
    },
  };
}

async function receiveForm(
  verified: VerifiedRequest<WorkspaceSubscriber>,
  body: Buffer,
): Promise<WebhookReply> {
  const form = new URLSearchParams(body.toString('utf8'));
  const json = form.get('payload');
  if (json === null) {
    await acceptForApps(verified, { kind: 'slash_commands', payload: Object.fromEntries(form) });
    return EMPTY;
  }
  const payload = jsonObjectIn(Buffer.from(json));
  if (payload === undefined) return malformed('payload in the form is not a JSON object');
  await acceptForApps(verified, { kind: 'interactive', payload });
  return EMPTY;
}

/** Passes the payload to each app once; usually there is only one. */
async function acceptForApps(
  { subscribers, principal }: VerifiedRequest<WorkspaceSubscriber>,
  input: Pick<IncomingPayload, 'kind' | 'payload'>,
): Promise<AppendOutcome | undefined> {
  const accounts = new Set(subscribers.map(({ account }) => account));
  let first: AppendOutcome | undefined;
  for (const account of accounts) {
    const ofApp = subscribers.filter((each) => each.account === account);
    const names = [...new Set(ofApp.map(({ trigger }) => trigger.name))];
    // During a reload a trigger is registered twice, the newer one first.
    const newest = names.flatMap((name) => ofApp.find(({ trigger }) => trigger.name === name) ?? []);
    const triggers = newest.map(({ trigger }) => trigger);
    const accepted = await newest[0]?.inbox.accept({ ...input, triggers, principal });
    first ??= accepted;
  }
  return first;
}

/** Returns true for a form. If the content type is missing, the start of the body decides. */
function isForm(type: string | undefined, body: Buffer): boolean {
  if (type !== undefined) return /^\s*application\/x-www-form-urlencoded\b/i.test(type);
  return /^(payload|command|token)=/.test(body.toString('latin1', 0, 16));
}
