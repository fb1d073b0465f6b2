// Webhook endpoint: receives updates. Triggers of several bots may share a path; the secret token identifies
// the bot. A verified request gets a 2xx response once its event is durable or ignored. The platform
// redelivers the update after any other status.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import type { WebhookReply } from '../webhooks/webhook.ts';
import { acceptanceReply, malformed } from '../webhooks/webhook-replies.ts';
import type { PathHandler, WebhookSubscriber } from '../webhooks/webhook-table.ts';
import type { BotAccount } from './account.ts';
import { mentionsBot } from './event.ts';
import type { BotInbox } from './inbox.ts';
import { botMessageOf } from './update.ts';

export const SECRET = 'x-telegram-bot-api-secret-token';

export interface BotSubscriber extends WebhookSubscriber<BotMessengerTrigger> {
  readonly account: BotAccount;
  readonly inbox: BotInbox;
}

export function botMessengerPath(maxBodyBytes: number): PathHandler<BotSubscriber> {
  return {
    maxBodyBytes,
    unauthorisedText: 'X-Telegram-Bot-Api-Secret-Token is missing or does not match a trigger of this path',
    async receive({ subscribers, principal }, _request, body) {
      // All verified subscribers use the same secret token, so normally the same bot: the first one is
      // enough.
      const [{ account, inbox }] = subscribers;
      const update = jsonObjectIn(body);
      if (update === undefined) return malformed('the body is not a JSON object');
      await account.load();
      const { kind, text = '' } = botMessageOf(update) ?? {};
      if (account.identity.username === undefined && kind === 'message' && mentionsBot(text))
        return retryLater;
      const ofBot = subscribers.filter((each) => each.account === account).map(({ trigger }) => trigger);
      // During a reload a trigger is registered twice, the newer one first.
      const triggers = ofBot.filter(
        ({ name }, index) => ofBot.findIndex((each) => each.name === name) === index,
      );
      const accepted = await inbox.accept(update, triggers, principal);
      if (accepted === undefined) return { status: 200, body: { status: 'ignored' } };
      return acceptanceReply(accepted);
    },
  };
}

const retryLater: WebhookReply = {
  status: 503,
  headers: [['retry-after', '2']],
  body: 'the name of the bot is not known yet, so the gateway cannot tell if the command is for it',
};
