// What the platform sends to a path, under the secret that it was given for the bot. Triggers of several bots may share a
// path; their secrets tell them apart.
//
// -    whatever is authentic is answered 2xx when it is durable, or nothing to keep: the platform repeats anything else.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { isRefusal } from '../../principal.ts';
import { admitted, refusal, type Verifier, verifiedSubscribers } from '../verified-subscribers.ts';
import type { WebhookReply, WebhookRequest } from '../webhook.ts';
import { malformed, takenReply } from '../webhook-replies.ts';
import type { PathUse, WebhookSubscriber } from '../webhook-table.ts';
import type { BotAccount } from './bot-account.ts';
import type { BotInbox } from './bot-inbox.ts';
import { botMessageOf } from './bot-update.ts';
import { namesABot } from './command-form.ts';

export const SECRET = 'x-telegram-bot-api-secret-token';

export interface BotSubscriber extends WebhookSubscriber {
  readonly trigger: BotMessengerTrigger;
  readonly verifier: Verifier;
  readonly account: BotAccount;
  readonly inbox: BotInbox;
}

export class BotPath implements PathUse<BotSubscriber> {
  readonly maxBodyBytes: number;

  constructor(maxBodyBytes: number) {
    this.maxBodyBytes = maxBodyBytes;
  }

  /** The secret is in a header, so that no body is read without it. */
  admit(subscribers: readonly BotSubscriber[], request: WebhookRequest): WebhookReply | undefined {
    return admitted(subscribers, request, UNAUTHORISED);
  }

  async receive(
    subscribers: readonly BotSubscriber[],
    request: WebhookRequest,
    body: Buffer,
  ): Promise<WebhookReply> {
    const verdict = verifiedSubscribers(subscribers, request, body);
    const verified = verdict instanceof Promise ? await verdict : verdict;
    if (isRefusal(verified)) return refusal(request, UNAUTHORISED, verified);
    const { subscribers: fit } = verified;
    const [first] = fit;
    const update = objectIn(body);
    if (update === undefined) return malformed('the body is no JSON object');
    const { account, inbox, host } = first;
    await account.load(host);
    const { kind, text = '' } = botMessageOf(update) ?? {};
    if (account.identity.username === undefined && kind === 'message' && namesABot(text)) return comeAgain;
    const ofBot = fit.filter((each) => each.account === account).map(({ trigger }) => trigger);
    // While a trigger is exchanged it is there twice, the newer first.
    const triggers = ofBot.filter(
      ({ name }, index) => ofBot.findIndex((each) => each.name === name) === index,
    );
    const taken = await inbox.take(update, triggers);
    if (taken === undefined) return { status: 200, body: { status: 'ignored' } };
    return takenReply(taken.id, { accepted: taken });
  }
}

const UNAUTHORISED = 'X-Telegram-Bot-Api-Secret-Token is missing, or fits no trigger of this path';

const comeAgain: WebhookReply = {
  status: 503,
  headers: [['retry-after', '2']],
  body: 'the platform has not said yet what the bot is called, so that nobody knows whether this is for it',
};

function objectIn(body: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
