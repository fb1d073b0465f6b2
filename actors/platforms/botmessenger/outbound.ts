// How answers go out: where to, in what form, and the calls that send them.
//
// What is to stand in place of a message is an edit of it, and a message of its own where there is none to be edited. The
// platform keeps no key of what was sent: after an attempt whose outcome is unknown a message may stand there twice. An
// edit does not.
//
// A press of a button of a question is answered by what came of it (query-answers.ts), for whoever pressed alone: no limit of the chat
// counts that. When the platform takes no answer to it any more, a message in the chat says the same.
//
// BO1  a group that has become a supergroup meanwhile is written to under its new id, in the same attempt.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { partsOfConversation } from '../../events/outbox/conversation-name.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../events/outbox/outbound.ts';
import type { OutboundTarget } from '../../events/outbox/outbound-message.ts';
import { Pacing, type PlaceLimit } from '../../events/outbox/pacing.ts';
import { memberOf } from '../payloads/payload-member.ts';
import type { BotApi } from './api.ts';
import { BotRefusal, deliveryErrorOf } from './errors.ts';
import { type BotCall, botCalls, botLimits } from './message.ts';
import { botMessageOf, type Migration, queryIdOf } from './update.ts';

// The platform allows one message a second per chat, 20 a minute per group, and 30 a second in total. The limit of the account
// is lower, because messages can arrive closer together than they were sent.
const PERSON: PlaceLimit = { everyMs: 1_000, burst: 5 };
const GROUP: PlaceLimit = { ...PERSON, window: { most: 20, ms: 60_000 } };

export const botPacing = (now?: () => number): Pacing =>
  new Pacing({ accountEveryMs: 40, accountBurst: 3, place: PERSON, ...(now && { now }) });

/** Description of the limit for operators. */
export const kindsOfChats = { person: PERSON, group: GROUP };

/** An edit counts as a message, so edits leave a third of the rate of a chat to other messages. */
export function editsEveryMs(chat: string): number {
  const { everyMs, window } = limitOf(chat);
  return 1.5 * Math.max(everyMs, window === undefined ? 0 : window.ms / window.most);
}

/** Group ids are negative. */
export const limitOf = (chat: string): PlaceLimit => (chat.startsWith('-') ? GROUP : PERSON);

/** In plain text there is no code. */
const MENTION = /(?<!\w)@(?=\w{3})/g;
/** As the platform numbers them: groups are negative. */
const CHAT = /^-?[1-9]\d{0,15}$/;
const TOPIC = /^[1-9]\d{0,15}$/;
/** The platform shows `typing` for five seconds. */
const TYPING_MS = 5_000;
/** What the platform says of a message that is not there, or can be edited no more. */
const GONE = /message to edit not found|message can't be edited|MESSAGE_ID_INVALID/i;

export interface BotDirectory {
  apiOf(trigger: BotMessengerTrigger): BotApi;
  /** The bot's id, of the token alone. */
  accountOf(trigger: BotMessengerTrigger): string;
  /** What the chat is called now. */
  presentIdOf(trigger: BotMessengerTrigger, chat: string): string;
  noteMigration(trigger: BotMessengerTrigger, migration: Migration): Promise<void>;
  /** The press takes no other answer any more. */
  noteAnswered(trigger: BotMessengerTrigger, query: string): void;
  readonly pacing: Pacing;
}

export function botOutbound(directory: BotDirectory): Outbound<BotMessengerTrigger, BotCall> {
  return {
    target: targetOf,
    async destination(trigger, conversation) {
      const account = { platform: 'botmessenger', account: directory.accountOf(trigger) };
      const [chat = '', topic, ...rest] = partsOfConversation(account, conversation) ?? [];
      const isPlace = CHAT.test(chat) && (topic === undefined || TOPIC.test(topic)) && rest.length === 0;
      return isPlace ? { place: directory.presentIdOf(trigger, chat), thread: topic } : undefined;
    },
    render: (_trigger, message) => botCalls(message),
    pressOf: ({ decision, payload }) =>
      decision !== undefined && 'approval' in decision.about ? queryIdOf(payload) : undefined,
    mentions: { pattern: MENTION, isReadInCode: true },
    limits: (trigger) => ({
      ...botLimits,
      ...directory.pacing.inForce(directory.accountOf(trigger), kindsOfChats, limitOf),
    }),
    sendsTo: ({ config }) => config.api_root,
    send: (trigger, call, context) => new BotSending(directory, trigger, context).send(call),
    editsEveryMs: ({ place }) => editsEveryMs(place),
    typingLastsMs: TYPING_MS,
    async typing(trigger, { place, thread }, signal) {
      const topic = thread === undefined ? {} : { message_thread_id: Number(thread) };
      const parameters = { chat_id: Number(place), action: 'typing', ...topic };
      await directory.apiOf(trigger).call('sendChatAction', parameters, { signal });
    },
  };
}

/** In a group the message is named that is answered: others write meanwhile. */
function targetOf(_trigger: BotMessengerTrigger, { payload }: InboundEvent): OutboundTarget | undefined {
  const message = botMessageOf(payload);
  if (message === undefined) return undefined;
  const { chat, topic, messageId, isPrivate } = message;
  return { place: chat, thread: topic, repliesTo: isPrivate ? undefined : messageId };
}

class BotSending {
  readonly #directory: BotDirectory;
  readonly #trigger: BotMessengerTrigger;
  readonly #context: SendContext;
  #refusal: BotRefusal | undefined;

  constructor(directory: BotDirectory, trigger: BotMessengerTrigger, context: SendContext) {
    this.#directory = directory;
    this.#trigger = trigger;
    this.#context = context;
  }

  async send(call: BotCall): Promise<Receipt> {
    const { method, parameters, of } = call;
    if (method === 'answerCallbackQuery') return this.#told(call);
    const chat = this.#directory.presentIdOf(this.#trigger, String(parameters.chat_id));
    const before = of === undefined ? undefined : await this.#context.receiptOf(of);
    return before === undefined
      ? this.#said(method, chat, parameters)
      : this.#edited(before, chat, parameters);
  }

  async #told({ method, parameters, orElse }: BotCall): Promise<Receipt> {
    const { apiOf, noteAnswered, presentIdOf } = this.#directory;
    const query = String(parameters.callback_query_id);
    try {
      await apiOf(this.#trigger).call(method, parameters, { signal: this.#context.signal });
      noteAnswered(this.#trigger, query);
    } catch (error) {
      if (!(error instanceof BotRefusal) || error.status !== 400)
        throw deliveryErrorOf(error, 'an answer to a press');
      noteAnswered(this.#trigger, query);
      if (orElse !== undefined)
        return this.#said('sendMessage', presentIdOf(this.#trigger, String(orElse.chat_id)), orElse);
    }
    return { id: '' };
  }

  async #said(method: string, chat: string, parameters: BotCall['parameters']): Promise<Receipt> {
    try {
      return receiptOf(await this.#paced(method, chat, parameters));
    } catch (error) {
      const migratedTo = await this.#migrated(chat);
      if (migratedTo === undefined) throw error;
      return receiptOf(await this.#paced(method, migratedTo, parameters));
    }
  }

  async #edited(before: Receipt, chat: string, parameters: BotCall['parameters']): Promise<Receipt> {
    const { text, reply_markup } = parameters;
    try {
      const changed = { text, reply_markup, message_id: Number(before.id) };
      return receiptOf(await this.#paced('editMessageText', chat, changed));
    } catch (error) {
      const { description = '' } = this.#refusal ?? {};
      // It says already what it should: an attempt before this one has edited it.
      if (/message is not modified/i.test(description)) return before;
      // What was written in a group is not in what that has become.
      const isGone = GONE.test(description) || (await this.#migrated(chat)) !== undefined;
      if (!isGone || !(error instanceof DeliveryError)) throw error;
      throw error.with({ isFinal: true, isTooSoon: false, isTargetGone: true });
    }
  }

  /** What the group that was meant has become, if that is why it was refused. */
  async #migrated(chat: string): Promise<string | undefined> {
    const to = this.#refusal?.migratedTo;
    if (to !== undefined) await this.#directory.noteMigration(this.#trigger, { from: chat, to });
    return to;
  }

  /** Rejects with a DeliveryError; the platform's own refusal is kept beside it. */
  #paced(method: string, chat: string, parameters: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { apiOf, accountOf, pacing } = this.#directory;
    const account = accountOf(this.#trigger);
    const turn = { account, place: chat, limit: limitOf(chat), isOfPlace: () => true };
    return pacing.run(turn, async () => {
      try {
        const whole = { ...parameters, chat_id: Number(chat) };
        return await apiOf(this.#trigger).call(method, whole, { signal: this.#context.signal });
      } catch (error) {
        if (error instanceof BotRefusal) this.#refusal = error;
        throw deliveryErrorOf(error, `a message to ${chat}`);
      }
    });
  }
}

/** Of a reaction there is none. */
function receiptOf(result: unknown): Receipt {
  const id = memberOf(result, 'message_id');
  return { id: Number.isSafeInteger(id) ? String(id) : '' };
}
