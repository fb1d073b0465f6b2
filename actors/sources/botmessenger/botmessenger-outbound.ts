// How answers go out: where to, in what form, and the calls that send them.
//
// BO1  a group that has become a supergroup meanwhile is written to under its new id, in the same attempt.
// -    the platform keeps no key of what was sent: after an attempt whose outcome is unknown a message may stand there twice. An
//      edit does not.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import type { Outbound, Receipt, Rendered, SendContext } from '../../outbound/outbound.ts';
import type { OutboundTarget } from '../../outbound/outbound-message.ts';
import type { Pacing } from '../../outbound/pacing.ts';
import type { InboundEvent } from '../adapter.ts';
import { memberOf } from '../payload-member.ts';
import { type BotCall, botCalls } from './bot-message.ts';
import { limitOf } from './bot-pacing.ts';
import { botMessageOf, type Migration } from './bot-update.ts';
import type { BotApi } from './botmessenger-api.ts';
import { BotRefusal, deliveryErrorOf } from './botmessenger-errors.ts';

/** The platform shows `typing` for five seconds. */
const TYPING_MS = 5_000;
export interface BotDirectory {
  apiOf(trigger: BotMessengerTrigger): BotApi;
  /** The bot's id, of the token alone. */
  accountOf(trigger: BotMessengerTrigger): string;
  /** What the chat is called now. */
  presentIdOf(trigger: BotMessengerTrigger, chat: string): string;
  noteMigration(trigger: BotMessengerTrigger, migration: Migration): Promise<void>;
  readonly pacing: Pacing;
}

export function botOutbound(directory: BotDirectory): Outbound<BotMessengerTrigger> {
  return {
    target: targetOf,
    render: (_trigger, message) => botCalls(message) as unknown as readonly Rendered[],
    account: directory.accountOf,
    sendsTo: ({ config }) => config.api_root,
    send: (trigger, rendered, context) =>
      new BotSending(directory, trigger, context).send(rendered as unknown as BotCall),
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

  async send({ method, parameters, of }: BotCall): Promise<Receipt> {
    const chat = this.#directory.presentIdOf(this.#trigger, String(parameters.chat_id));
    const edited = of === undefined ? undefined : { message_id: await this.#messageOf(of) };
    const whole = { ...parameters, ...edited };
    try {
      return receiptOf(await this.#paced(method, chat, whole));
    } catch (error) {
      const { description = '', migratedTo } = this.#refusal ?? {};
      // It says already what it should: an attempt before this one has edited it.
      if (of !== undefined && /message is not modified/i.test(description))
        return { id: String(edited?.message_id) };
      if (migratedTo === undefined) throw error;
      await this.#directory.noteMigration(this.#trigger, { from: chat, to: migratedTo });
      return receiptOf(await this.#paced(method, migratedTo, whole));
    }
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

  async #messageOf(of: string): Promise<number> {
    const receipt = await this.#context.receiptOf(of);
    if (receipt === undefined || receipt.id === '')
      throw new DeliveryError('the message that is to be edited was never sent', { isFinal: true });
    return Number(receipt.id);
  }
}

/** Of a reaction there is none. */
function receiptOf(result: unknown): Receipt {
  const id = memberOf(result, 'message_id');
  return { id: Number.isSafeInteger(id) ? String(id) : '' };
}
