// Connector for a bot: polls for updates, or registers the webhook. In both modes it requests the bot's name,
// which checks the token, and sets the command menu.
//
// Polling removes an existing webhook; pending updates remain at the platform. A poll that exceeds the
// platform's wait time plus a margin is aborted.

import { setTimeout as pause } from 'node:timers/promises';
import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { abortOverdueWork } from '../../../libs/rest/process-suspension.ts';
import { RequestFault } from '../../../libs/rest/request-fault.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Principal } from '../../identity/principal.ts';
import { webhookConnection } from '../accounts/webhook-connection.ts';
import type { TriggerHost } from '../adapter.ts';
import type { Connector, OpenConnection, Users } from '../connections/connector.ts';
import type { BotAccount } from './account.ts';
import type { BotApi } from './api.ts';
import { BotRefusal, connectionErrorOf } from './errors.ts';
import { BotInbox } from './inbox.ts';
import { reportPendingUpdates } from './pending-updates.ts';
import { updateKinds } from './update.ts';
import { UpdateLoop, type UpdateSource } from './update-loop.ts';

export interface BotConnectorOptions {
  readonly trigger: BotMessengerTrigger;
  readonly account: BotAccount;
  readonly api: BotApi;
  readonly host: TriggerHost;
  /** @default pollTimes */
  readonly times?: PollTimes;
}

interface PollTimes {
  /** Time that the platform waits for updates. */
  readonly seconds: number;
  /** Margin for the transfer of the response. */
  readonly answerMs: number;
}

export const pollTimes: PollTimes = { seconds: 30, answerMs: 15_000 };
const MAX_UPDATES = 100;
/** A poll that the platform has not refused within this time counts as accepted. */
const ACCEPTED_MS = 500;
const OFFSETS = 'botmessenger-offsets';
/** Principal of polled updates: the token authorised the poll. */
const platform: Principal = { kind: 'key', name: 'bot_token' };

export function botConnector(options: BotConnectorOptions): Connector<BotMessengerTrigger> {
  const { bot_token, api_root, mode, secret_token, webhook_url } = options.trigger.config;
  const isPolling = mode === 'polling';
  // If one of these fields changes, a reload reconnects, which registers the webhook again.
  const webhook = isPolling ? [] : [secret_token, webhook_url];
  return {
    identity: JSON.stringify([bot_token, api_root, mode, ...webhook]),
    // Two pollers would conflict; setting a webhook can be repeated.
    isOnEveryNode: !isPolling,
    connect: async (signal, users) => {
      try {
        return isPolling
          ? await connectPolling(options, signal, users)
          : await connectWebhook(options, signal);
      } catch (error) {
        throw connectionErrorOf(error);
      }
    },
  };
}

/** Registers the webhook. The webhook endpoint (path.ts) receives the updates. */
async function connectWebhook(
  { trigger, account, api, host }: BotConnectorOptions,
  signal: AbortSignal,
): Promise<OpenConnection<BotMessengerTrigger>> {
  await account.load();
  await account.identify(api, signal);
  const { webhook_url: url, secret_token } = trigger.config;
  const current = await reportPendingUpdates(account, api, host.log, signal);
  reportWebhook(current, url, account, host.log);
  // Also set if the URL is unchanged, because the platform does not return the secret.
  if (url !== undefined)
    await api.call('setWebhook', { url, secret_token, allowed_updates: updateKinds }, { signal });
  return webhookConnection((triggers, ending) => showMenu(account, api, triggers, ending));
}

/**
 * Reports a missing or replaced webhook to the operator. `current` is the URL that the platform has;
 * undefined if unknown.
 */
function reportWebhook(
  current: string | undefined,
  url: string | undefined,
  account: BotAccount,
  log: Log,
): void {
  const bot = account.name;
  if (url === undefined && current === '') {
    log.warn(
      { bot },
      'no webhook is set, so no updates arrive; set it at the platform, or configure webhook_url',
    );
    account.addDiagnostic(
      'no webhook is set, so no updates arrive; set it at the platform, or configure webhook_url',
    );
  } else if (url !== undefined && current !== undefined && current !== '' && current !== url) {
    // The path may contain a secret.
    const host = URL.canParse(current) ? new URL(current).host : 'an unknown host';
    log.warn({ bot, host }, 'replacing a webhook that leads to another host');
    account.addDiagnostic(`replaced the webhook, which led to ${host}`);
  }
}

async function connectPolling(
  { account, api, host, times = pollTimes }: BotConnectorOptions,
  signal: AbortSignal,
  users: Users<BotMessengerTrigger>,
): Promise<OpenConnection<BotMessengerTrigger>> {
  const { store, log } = host;
  await account.load();
  await account.identify(api, signal);
  await reportPendingUpdates(account, api, log, signal);
  const inbox = new BotInbox(account, api, host);
  const savedOffset = Number((await store.get(OFFSETS, account.name))?.value);
  signal.throwIfAborted();
  const loop = new UpdateLoop({
    source: new UpdatePoller(api, times),
    sink: {
      store: async (updates) => {
        // The process may have been suspended: the lease may be lost and another node may be polling.
        abortOverdueWork();
        signal.throwIfAborted();
        const triggers = users();
        // The last trigger has left; the platform redelivers the updates to another client.
        if (triggers.length === 0) throw new Error('no trigger uses the bot');
        await inbox.acceptAll(updates, triggers, platform);
      },
      saveOffset: async (offset) => void (await store.put(OFFSETS, account.name, String(offset))),
      onStoreFailure: (error, inMs) =>
        log.warn(
          { bot: account.name, reason: (error as Error).message, in_ms: inMs },
          'could not store updates; they remain at the platform until the next attempt',
        ),
    },
    offset: Number.isSafeInteger(savedOffset) ? savedOffset : undefined,
  });
  signal.addEventListener('abort', () => loop.end(), { once: true });
  let onFirstResponse = (): void => {};
  const first = new Promise<void>((resolve) => {
    onFirstResponse = resolve;
  });
  const closed = loop.run(onFirstResponse).catch((error: unknown) => {
    throw connectionErrorOf(error);
  });
  // The callers handle the rejection; this avoids an unhandled one.
  closed.catch(() => {});
  await Promise.race([first, closed, pause(ACCEPTED_MS, undefined, { ref: false })]);
  return {
    closed,
    close: async () => {
      loop.end();
      await closed;
    },
    onUsers: (triggers, ending) => showMenu(account, api, triggers, ending),
  };
}

async function showMenu(
  account: BotAccount,
  api: BotApi,
  triggers: readonly BotMessengerTrigger[],
  signal: AbortSignal,
): Promise<void> {
  try {
    await account.showMenu(api, triggers, signal);
  } catch (error) {
    throw connectionErrorOf(error);
  }
}

/** Requests updates by long polling. Removes a webhook that conflicts with polling. */
class UpdatePoller implements UpdateSource {
  readonly #api: BotApi;
  readonly #times: PollTimes;
  /** Maximum number of updates per poll. Reduced if a response is too large. */
  #limit = MAX_UPDATES;

  constructor(api: BotApi, times: PollTimes) {
    this.#api = api;
    this.#times = times;
  }

  async poll(offset: number | undefined, signal: AbortSignal): Promise<readonly unknown[]> {
    try {
      const updates = await this.#request(offset, signal);
      this.#limit = MAX_UPDATES;
      return updates;
    } catch (error) {
      if (error instanceof RequestFault && error.kind === 'too-large' && this.#limit > 1) {
        // The update loop polls again with the lower limit.
        this.#limit = Math.ceil(this.#limit / 4);
        return [];
      }
      if (!isWebhookSet(error)) throw error;
      await this.#api.call('deleteWebhook', {}, { signal });
      return this.#request(offset, signal);
    }
  }

  async #request(offset: number | undefined, signal: AbortSignal): Promise<readonly unknown[]> {
    const { seconds, answerMs } = this.#times;
    const request = { limit: this.#limit, timeout: seconds, allowed_updates: updateKinds };
    const parameters = offset === undefined ? request : { ...request, offset };
    const timeoutMs = seconds * 1000 + answerMs;
    const updates = await this.#api.call('getUpdates', parameters, { signal, timeoutMs });
    return Array.isArray(updates) ? updates : [];
  }
}

/**
 * Returns true if the poll conflicts with a webhook, false for a conflict with another poller ("terminated by
 * other getUpdates request"). The platform responds 409 to both.
 */
function isWebhookSet(error: unknown): boolean {
  if (!(error instanceof BotRefusal) || error.status !== 409) return false;
  const { description = '' } = error;
  return /webhook/i.test(description) && !/terminated/i.test(description);
}
