// What the platform can tell, when a bot is connected, of the time in which nobody was here: how many updates wait, and why it could
// not deliver to the webhook. The updates come by themselves; whoever operates the gateway should know of them.
//
// It is asked once for each connection, and nothing depends on the answer.

import { withoutSequences } from '../../base/errors/control-sequences.ts';
import type { Log } from '../../base/errors/log.ts';
import { numberMember, textMember } from '../payloads/payload-member.ts';
import type { BotAccount } from './account.ts';
import type { BotApi } from './api.ts';

const ASK_MS = 5_000;
/** The platform keeps updates for a day; an older failure says nothing of those that wait. */
const RECENT_MS = 86_400_000;
const MAX_REASON = 200;

/** The address that is set, '' for none; undefined where the platform does not say. Never rejects. */
export async function lookBack(
  account: BotAccount,
  api: BotApi,
  log: Log,
  signal: AbortSignal,
): Promise<string | undefined> {
  const info = await api.call('getWebhookInfo', {}, { signal, timeoutMs: ASK_MS }).catch(() => undefined);
  if (info === undefined) return undefined;
  const bot = account.name;
  const pending = numberMember(info, 'pending_update_count') ?? 0;
  if (pending > 0) {
    log.info({ bot, pending }, 'updates waited at the platform; they come now');
    account.remark(`${pending} updates waited at the platform when the bot was connected`);
  }
  const failedAt = (numberMember(info, 'last_error_date') ?? 0) * 1000;
  if (failedAt > Date.now() - RECENT_MS && failedAt > account.failureToldAt) {
    account.failureToldAt = failedAt;
    const reason = withoutSequences(textMember(info, 'last_error_message') ?? '').slice(0, MAX_REASON);
    const at = new Date(failedAt).toISOString();
    log.warn({ bot, at, reason }, 'the platform could not deliver to the webhook of the bot');
    account.remark(`the platform could not deliver to the webhook: ${reason}`, failedAt);
  }
  return textMember(info, 'url') ?? '';
}
