// Sends messages to the platform: resolves targets, renders messages and calls the API.
//
// The platform has no idempotency key, so a message may be duplicated after unknown outcomes; an edit can be
// repeated safely. The answer to an approval press is shown only to the person who pressed, and has no rate
// limit. If the press can no longer be answered, a message in the chat replaces the answer
// (query-answers.ts). Messages to a migrated group are sent to the new id, in the same attempt.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { conversationParts } from '../../events/outbox/conversation-name.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { OutboundTarget } from '../../events/outbox/message.ts';
import type { Outbound, SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import { type DestinationLimit, Pacing } from '../../events/outbox/pacing.ts';
import { memberOf } from '../payloads/payload-member.ts';
import type { BotApi } from './api.ts';
import { BotRefusal, deliveryErrorOf } from './errors.ts';
import { type BotCall, botCalls, botLimits } from './render-message.ts';
import { botMessageOf, type GroupMigration, queryIdOf } from './update.ts';

// Rate limits of the platform: one message a second per chat, 20 a minute per group, and 30 a second in
// total. The account's limit here is lower, because messages may arrive closer together than sent.
const PERSON: DestinationLimit = { everyMs: 1_000, burst: 5 };
const GROUP: DestinationLimit = { ...PERSON, window: { most: 20, ms: 60_000 } };

export const botPacing = (now?: () => number): Pacing =>
  new Pacing({ accountEveryMs: 40, accountBurst: 3, destination: PERSON, ...(now && { now }) });

/** Limits with names, for operators. */
export const limitsByName = { person: PERSON, group: GROUP };

/**
 * Interval between edits, in milliseconds. Edits count as messages; leaves a third of the chat's rate to
 * other messages.
 */
export function editIntervalMs(chat: string): number {
  const { everyMs, window } = limitOf(chat);
  return 1.5 * Math.max(everyMs, window === undefined ? 0 : window.ms / window.most);
}

/** Returns the chat's rate limit. Group ids are negative. */
export const limitOf = (chat: string): DestinationLimit => (chat.startsWith('-') ? GROUP : PERSON);

/** Chat ids. Group ids are negative. */
const CHAT = /^-?[1-9]\d{0,15}$/;
const TOPIC = /^[1-9]\d{0,15}$/;
/** The platform shows `typing` for five seconds. */
const TYPING_MS = 5_000;
/** Error texts of the platform for a message that is missing or can no longer be edited. */
const MISSING_MESSAGE = /message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i;

export interface BotDirectory {
  apiOf(trigger: BotMessengerTrigger): BotApi;
  /** Returns the id of the bot, which is part of its token. */
  accountOf(trigger: BotMessengerTrigger): string;
  /** Returns the current id of the chat. */
  currentIdOf(trigger: BotMessengerTrigger, chat: string): string;
  noteMigration(trigger: BotMessengerTrigger, migration: GroupMigration): Promise<void>;
  /** Records that a press needs no further answer. */
  noteAnswered(trigger: BotMessengerTrigger, query: string): void;
  readonly pacing: Pacing;
}

export function botOutbound(directory: BotDirectory): Outbound<BotMessengerTrigger, BotCall> {
  return {
    target: targetOf,
    async destination(trigger, conversation) {
      const account = { platform: 'botmessenger', account: directory.accountOf(trigger) };
      const [chat = '', topic, ...rest] = conversationParts(account, conversation) ?? [];
      const isValid = CHAT.test(chat) && (topic === undefined || TOPIC.test(topic)) && rest.length === 0;
      return isValid ? { place: directory.currentIdOf(trigger, chat), thread: topic } : undefined;
    },
    rendersFormats: true,
    render: (_trigger, message) => botCalls(message),
    pressOf: ({ decision, payload }) =>
      decision !== undefined && 'approval' in decision.about ? queryIdOf(payload) : undefined,
    mentions: 'rendered',
    limits: (trigger) => ({
      ...botLimits,
      ...directory.pacing.currentLimits(directory.accountOf(trigger), limitsByName, limitOf),
    }),
    addressOf: ({ config }) => config.api_root,
    send: (trigger, call, context) => new BotSending(directory, trigger, context).send(call),
    editIntervalMs: ({ place }) => editIntervalMs(place),
    typingDurationMs: TYPING_MS,
    async showTyping(trigger, { place, thread }, signal) {
      const topic = thread === undefined ? {} : { message_thread_id: Number(thread) };
      const parameters = { chat_id: Number(place), action: 'typing', ...topic };
      await directory.apiOf(trigger).call('sendChatAction', parameters, { signal });
    },
  };
}

/**
 * Targets the chat. In a group the reply refers to the message, because other members may write in between.
 */
function targetOf(_trigger: BotMessengerTrigger, { payload }: InboundEvent): OutboundTarget | undefined {
  const message = botMessageOf(payload);
  if (message === undefined) return undefined;
  const { chat, topic, messageId, isPrivate } = message;
  return { place: chat, thread: topic, repliesTo: isPrivate ? undefined : messageId };
}

/** One attempt to send a message. */
class BotSending {
  readonly #directory: BotDirectory;
  readonly #trigger: BotMessengerTrigger;
  readonly #context: SendContext;
  /** Last refusal of the platform in this attempt. */
  #refusal: BotRefusal | undefined;

  constructor(directory: BotDirectory, trigger: BotMessengerTrigger, context: SendContext) {
    this.#directory = directory;
    this.#trigger = trigger;
    this.#context = context;
  }

  async send(call: BotCall): Promise<SendReceipt> {
    const { method, parameters, of: editedRowId } = call;
    if (method === 'answerCallbackQuery') return this.#answerPress(call);
    const chat = this.#directory.currentIdOf(this.#trigger, String(parameters.chat_id));
    const existing = editedRowId === undefined ? undefined : await this.#context.receiptOf(editedRowId);
    return existing === undefined
      ? this.#send(method, chat, parameters)
      : this.#edit(existing, chat, parameters);
  }

  async #answerPress({ method, parameters, orElse }: BotCall): Promise<SendReceipt> {
    const { apiOf, noteAnswered, currentIdOf } = this.#directory;
    const query = String(parameters.callback_query_id);
    try {
      await apiOf(this.#trigger).call(method, parameters, { signal: this.#context.signal });
      noteAnswered(this.#trigger, query);
    } catch (error) {
      // Status 400: the press can no longer be answered.
      if (!(error instanceof BotRefusal) || error.status !== 400)
        throw deliveryErrorOf(error, 'an answer to a press');
      noteAnswered(this.#trigger, query);
      if (orElse !== undefined)
        return this.#send('sendMessage', currentIdOf(this.#trigger, String(orElse.chat_id)), orElse);
    }
    return { id: '' };
  }

  async #send(method: string, chat: string, parameters: BotCall['parameters']): Promise<SendReceipt> {
    try {
      return receiptOf(await this.#call(method, chat, parameters));
    } catch (error) {
      const migratedTo = await this.#recordMigration(chat);
      if (migratedTo === undefined) throw error;
      return receiptOf(await this.#call(method, migratedTo, parameters));
    }
  }

  async #edit(existing: SendReceipt, chat: string, parameters: BotCall['parameters']): Promise<SendReceipt> {
    const { text, entities, parse_mode, reply_markup } = parameters;
    try {
      const edit = { text, entities, parse_mode, reply_markup, message_id: Number(existing.id) };
      return receiptOf(await this.#call('editMessageText', chat, edit));
    } catch (error) {
      const { description = '' } = this.#refusal ?? {};
      // An earlier attempt has already made this edit.
      if (/message is not modified/i.test(description)) return existing;
      // Messages of the old group cannot be edited in the supergroup.
      const isMissing =
        MISSING_MESSAGE.test(description) || (await this.#recordMigration(chat)) !== undefined;
      if (!isMissing || !(error instanceof DeliveryError)) throw error;
      throw error.with({ isFinal: true, isRateLimited: false, isTargetMissing: true });
    }
  }

  /** Records the migration if it was the reason for the refusal. Returns the new id, if any. */
  async #recordMigration(chat: string): Promise<string | undefined> {
    const to = this.#refusal?.migratedTo;
    if (to !== undefined) await this.#directory.noteMigration(this.#trigger, { from: chat, to });
    return to;
  }

  /**
   * Calls the API within the rate limits. Rejects with a DeliveryError, and stores the platform's refusal.
   */
  #call(method: string, chat: string, parameters: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { apiOf, accountOf, pacing } = this.#directory;
    const account = accountOf(this.#trigger);
    const slot = { account, destination: chat, limit: limitOf(chat), isOfDestination: () => true };
    return pacing.run(slot, async () => {
      const { signal } = this.#context;
      const request = (more: object) =>
        apiOf(this.#trigger).call(method, { ...parameters, chat_id: Number(chat), ...more }, { signal });
      try {
        return await request({}).catch((error: unknown) => {
          if (parameters.parse_mode === undefined || !isInvalidMarkup(error)) throw error;
          // The agent wrote invalid markup; its text is sent as it is.
          return request({ parse_mode: undefined });
        });
      } catch (error) {
        if (error instanceof BotRefusal) this.#refusal = error;
        throw deliveryErrorOf(error, `a message to ${chat}`);
      }
    });
  }
}

const isInvalidMarkup = (error: unknown) =>
  error instanceof BotRefusal &&
  error.status === 400 &&
  /can't parse entities/i.test(error.description ?? '');

/** Returns the receipt. Its id is empty for reactions, whose results contain no message id. */
function receiptOf(result: unknown): SendReceipt {
  const id = memberOf(result, 'message_id');
  return { id: Number.isSafeInteger(id) ? String(id) : '' };
}
