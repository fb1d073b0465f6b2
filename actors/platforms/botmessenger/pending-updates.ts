// Reports how many updates are pending at the platform, and the last failed delivery to the webhook. Both
// date from the time before the connect. The report is only for operators; the updates arrive in the normal
// way.

import { removeControlSequences } from '../../base/errors/control-sequences.ts';
import type { Log } from '../../base/errors/log.ts';
import { numberMember, textMember } from '../payloads/payload-member.ts';
import type { BotAccount } from './account.ts';
import type { BotApi } from './api.ts';

const TIMEOUT_MS = 5_000;
/**
 * Maximum age for reported failures. Updates expire at the platform within a day, so older failures concern
 * no pending update.
 */
const RECENT_MS = 86_400_000;
const MAX_REASON = 200;

/**
 * Requests and logs the report. Returns the current webhook URL, '' if no webhook is set; undefined if
 * unknown. Never rejects.
 */
export async function reportPendingUpdates(
  account: BotAccount,
  api: BotApi,
  log: Log,
  signal: AbortSignal,
): Promise<string | undefined> {
  const info = await api.call('getWebhookInfo', {}, { signal, timeoutMs: TIMEOUT_MS }).catch(() => undefined);
  if (info === undefined) return undefined;
  const bot = account.name;
  const pending = numberMember(info, 'pending_update_count') ?? 0;
  if (pending > 0) {
    log.info({ bot, pending }, 'receiving pending updates');
    account.addDiagnostic(`${pending} updates were pending at the platform when the bot connected`);
  }
  const failedAt = (numberMember(info, 'last_error_date') ?? 0) * 1000;
  if (failedAt > Date.now() - RECENT_MS && failedAt > account.reportedFailureAt) {
    account.reportedFailureAt = failedAt;
    const reason = removeControlSequences(textMember(info, 'last_error_message') ?? '').slice(0, MAX_REASON);
    const at = new Date(failedAt).toISOString();
    log.warn({ bot, at, reason }, 'the platform could not deliver to the webhook of the bot');
    account.addDiagnostic(`the platform could not deliver to the webhook: ${reason}`, failedAt);
  }
  return textMember(info, 'url') ?? '';
}
