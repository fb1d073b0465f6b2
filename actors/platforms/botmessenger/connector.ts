// How a bot is connected: by long polls, or for a webhook by nothing but a word to the platform. Either way the platform is
// asked who the bot is, which tells whether its token is one, and is shown its commands.
//
// Where a webhook is set and updates are to be asked for, it is taken away, and what waits for it is kept. A poll without
// an answer is given up; the platform answers each within the time that it is told.

import { setTimeout as pause } from 'node:timers/promises';
import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { RequestFault } from '../../../libs/rest/request-fault.ts';
import { endWhatIsOver } from '../../../libs/rest/standstill.ts';
import type { Log } from '../../base/errors/log.ts';
import type { Principal } from '../../identity/principal.ts';
import { webhookConnection } from '../accounts/webhook-connection.ts';
import type { SourceHost } from '../adapter.ts';
import type { Connector, OpenConnection, Users } from '../connections/connector.ts';
import type { BotAccount } from './account.ts';
import type { BotApi } from './api.ts';
import { BotRefusal, connectionErrorOf } from './errors.ts';
import { BotInbox } from './inbox.ts';
import { updateKinds } from './update.ts';
import { UpdateLoop, type UpdateSource } from './update-loop.ts';
import { lookBack } from './waiting-updates.ts';

export interface BotConnectorOptions {
  readonly trigger: BotMessengerTrigger;
  readonly account: BotAccount;
  readonly api: BotApi;
  readonly host: SourceHost;
  /** @default pollTimes */
  readonly times?: PollTimes;
}

interface PollTimes {
  /** For so long the platform waits for something to come. */
  readonly seconds: number;
  /** Beyond that, for the way of the answer. */
  readonly answerMs: number;
}

export const pollTimes: PollTimes = { seconds: 30, answerMs: 15_000 };
const MOST_AT_ONCE = 100;
/** A poll that has not been refused for so long has been taken. */
const TAKEN_MS = 500;
const OFFSETS = 'botmessenger-offsets';
/** Who gives the updates that are asked for under the token. */
const platform: Principal = { kind: 'key', name: 'bot_token' };

export function botConnector(options: BotConnectorOptions): Connector<BotMessengerTrigger> {
  const { bot_token, api_root, mode, secret_token, webhook_url } = options.trigger.config;
  const isPolling = mode === 'polling';
  const webhook = isPolling ? [] : [secret_token, webhook_url];
  return {
    identity: JSON.stringify([bot_token, api_root, mode, ...webhook]),
    isOnEveryNode: !isPolling,
    connect: async (signal, users) => {
      try {
        return isPolling ? await polling(options, signal, users) : await awaiting(options, signal);
      } catch (error) {
        throw connectionErrorOf(error);
      }
    },
  };
}

/** Whoever sends to the webhook is its affair; here the platform is told where it is. */
async function awaiting(
  { trigger, account, api, host }: BotConnectorOptions,
  signal: AbortSignal,
): Promise<OpenConnection<BotMessengerTrigger>> {
  await account.load();
  await account.identify(api, signal);
  const { webhook_url: url, secret_token } = trigger.config;
  const before = await lookBack(account, api, host.log, signal);
  tellOfWebhook(before, url, account, host.log);
  // Also where it is the same: which secret stands there nobody can ask.
  if (url !== undefined)
    await api.call('setWebhook', { url, secret_token, allowed_updates: updateKinds }, { signal });
  return webhookConnection((triggers, ending) => shown(account, api, triggers, ending));
}

/** `before` is what stands at the platform; undefined where that is not known. */
function tellOfWebhook(
  before: string | undefined,
  url: string | undefined,
  account: BotAccount,
  log: Log,
): void {
  const bot = account.name;
  if (url === undefined && before === '') {
    log.warn({ bot }, 'no webhook is set at the platform, so nothing comes; set it, or write webhook_url');
    account.remark('no webhook is set at the platform, so nothing comes; set it, or write webhook_url');
  } else if (url !== undefined && before !== undefined && before !== '' && before !== url) {
    // Its path may be somebody's secret.
    const host = URL.canParse(before) ? new URL(before).host : 'somewhere';
    log.warn({ bot, host }, 'the webhook of the bot led elsewhere and is set anew');
    account.remark(`the webhook led to ${host}, and was set anew`);
  }
}

async function polling(
  { account, api, host, times = pollTimes }: BotConnectorOptions,
  signal: AbortSignal,
  users: Users<BotMessengerTrigger>,
): Promise<OpenConnection<BotMessengerTrigger>> {
  const { store, log } = host;
  await account.load();
  await account.identify(api, signal);
  await lookBack(account, api, log, signal);
  const inbox = new BotInbox(account, api, host);
  const saved = Number((await store.get(OFFSETS, account.name))?.value);
  signal.throwIfAborted();
  const loop = new UpdateLoop({
    source: new Polls(api, times),
    sink: {
      keep: async (updates) => {
        // Another node may have asked for more meanwhile.
        endWhatIsOver();
        signal.throwIfAborted();
        const triggers = users();
        // The last of them has gone: whoever comes next is given it again.
        if (triggers.length === 0) throw new Error('no trigger uses the bot any more');
        await inbox.takeAll(updates, triggers, platform);
      },
      saveOffset: async (offset) => void (await store.put(OFFSETS, account.name, String(offset))),
      onRefused: (error, inMs) =>
        log.warn(
          { bot: account.name, reason: (error as Error).message, in_ms: inMs },
          'updates could not be kept; the platform keeps them meanwhile',
        ),
    },
    offset: Number.isSafeInteger(saved) ? saved : undefined,
  });
  signal.addEventListener('abort', () => loop.end(), { once: true });
  let answered = (): void => {};
  const first = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const closed = loop.run(answered).catch((error: unknown) => {
    throw connectionErrorOf(error);
  });
  // It is looked at where it is waited for.
  closed.catch(() => {});
  await Promise.race([first, closed, pause(TAKEN_MS, undefined, { ref: false })]);
  return {
    closed,
    close: async () => {
      loop.end();
      await closed;
    },
    onUsers: (triggers, ending) => shown(account, api, triggers, ending),
  };
}

async function shown(
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

class Polls implements UpdateSource {
  readonly #api: BotApi;
  readonly #times: PollTimes;
  /** Fewer after an answer that was larger than what is read. */
  #limit = MOST_AT_ONCE;

  constructor(api: BotApi, times: PollTimes) {
    this.#api = api;
    this.#times = times;
  }

  async poll(offset: number | undefined, signal: AbortSignal): Promise<readonly unknown[]> {
    try {
      const updates = await this.#ask(offset, signal);
      this.#limit = MOST_AT_ONCE;
      return updates;
    } catch (error) {
      if (error instanceof RequestFault && error.kind === 'too-large' && this.#limit > 1) {
        this.#limit = Math.ceil(this.#limit / 4);
        return [];
      }
      if (!isWebhookSet(error)) throw error;
      await this.#api.call('deleteWebhook', {}, { signal });
      return this.#ask(offset, signal);
    }
  }

  async #ask(offset: number | undefined, signal: AbortSignal): Promise<readonly unknown[]> {
    const { seconds, answerMs } = this.#times;
    const asked = { limit: this.#limit, timeout: seconds, allowed_updates: updateKinds };
    const parameters = offset === undefined ? asked : { ...asked, offset };
    const timeoutMs = seconds * 1000 + answerMs;
    const updates = await this.#api.call('getUpdates', parameters, { signal, timeoutMs });
    return Array.isArray(updates) ? updates : [];
  }
}

/** The one conflict that says so; of another poller it is the other one. */
function isWebhookSet(error: unknown): boolean {
  return (
    error instanceof BotRefusal &&
    error.status === 409 &&
    /webhook/i.test(error.message) &&
    !/terminated/i.test(error.message)
  );
}
