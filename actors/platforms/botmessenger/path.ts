// What the platform sends to a path, under the secret that it was given for the bot. Triggers of several bots may share a
// path; their secrets tell them apart.
//
// Whatever is authentic is answered 2xx when it is durable, or nothing to keep: the platform repeats anything else.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import type { WebhookReply } from '../webhooks/webhook.ts';
import { malformed, takenReply } from '../webhooks/webhook-replies.ts';
import type { PathUse, WebhookSubscriber } from '../webhooks/webhook-table.ts';
import type { BotAccount } from './account.ts';
import { namesABot } from './event.ts';
import type { BotInbox } from './inbox.ts';
import { botMessageOf } from './update.ts';

export const SECRET = 'x-telegram-bot-api-secret-token';

export interface BotSubscriber extends WebhookSubscriber<BotMessengerTrigger> {
  readonly account: BotAccount;
  readonly inbox: BotInbox;
}

export function botMessengerPath(maxBodyBytes: number): PathUse<BotSubscriber> {
  return {
    maxBodyBytes,
    unauthorised: 'X-Telegram-Bot-Api-Secret-Token is missing, or fits no trigger of this path',
    async receive({ subscribers, principal }, _request, body) {
      const [{ account, inbox }] = subscribers;
      const update = jsonObjectIn(body);
      if (update === undefined) return malformed('the body is no JSON object');
      await account.load();
      const { kind, text = '' } = botMessageOf(update) ?? {};
      if (account.identity.username === undefined && kind === 'message' && namesABot(text)) return comeAgain;
      const ofBot = subscribers.filter((each) => each.account === account).map(({ trigger }) => trigger);
      // While a trigger is exchanged it is there twice, the newer first.
      const triggers = ofBot.filter(
        ({ name }, index) => ofBot.findIndex((each) => each.name === name) === index,
      );
      const taken = await inbox.take(update, triggers, principal);
      if (taken === undefined) return { status: 200, body: { status: 'ignored' } };
      return takenReply(taken.id, { accepted: taken });
    },
  };
}

const comeAgain: WebhookReply = {
  status: 503,
  headers: [['retry-after', '2']],
  body: 'the platform has not said yet what the bot is called, so that nobody knows whether this is for it',
};
