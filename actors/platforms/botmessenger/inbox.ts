// What becomes of the updates of one bot, however they come: events in the store, answers to pressed buttons, and what is to
// be known of its chats.
//
// What may be of use to an agent is durable when a promise of this resolves, and not before.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Principal } from '../../identity/principal.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Appended } from '../../store/store.ts';
import type { SourceHost } from '../adapter.ts';
import { isAnybodyAsked } from '../chats/chat-decisions.ts';
import { acceptAll } from '../webhooks/accept-all.ts';
import type { BotAccount } from './account.ts';
import type { BotApi } from './api.ts';
import { botEvent, decisionOf } from './event.ts';
import { QueryAnswers } from './query-answers.ts';
import { botMessageOf, migrationOf, queryIdOf } from './update.ts';

type Triggers = readonly BotMessengerTrigger[];

export class BotInbox {
  readonly #account: BotAccount;
  readonly #host: SourceHost;
  readonly #answers: QueryAnswers;

  constructor(account: BotAccount, api: BotApi, host: SourceHost) {
    this.#account = account;
    this.#host = host;
    this.#answers = new QueryAnswers(api, host.log);
  }

  /** `principal` is who brings it. Undefined for what is nothing for an agent. Rejects as the store does. */
  async take(update: unknown, triggers: Triggers, principal: Principal): Promise<Appended | undefined> {
    await this.#heed(update, triggers);
    const event = await this.#eventOf(update, triggers, principal);
    return event && this.#host.accept(event);
  }

  /** Several, in their order. When it rejects some of them may be there already, and may be brought again. */
  async takeAll(updates: readonly unknown[], triggers: Triggers, principal: Principal): Promise<void> {
    for (const update of updates) await this.#heed(update, triggers);
    const events: NewEvent[] = [];
    for (const update of updates) {
      const event = await this.#eventOf(update, triggers, principal);
      if (event !== undefined) events.push(event);
    }
    await acceptAll(this.#host, events);
  }

  async #eventOf(update: unknown, triggers: Triggers, principal: Principal): Promise<NewEvent | undefined> {
    const { turns } = this.#account;
    const message = botMessageOf(update);
    if (message === undefined) return undefined;
    // Where nobody has anything to say to it, an arrival is no event; and it is no turn of anybody's.
    if (message.kind === 'my_chat_member')
      return triggers.some(({ welcome = '' }) => welcome !== '')
        ? this.#made(update, triggers, principal)
        : undefined;
    // Nor is a mark.
    if (message.kind === 'message_reaction') {
      const event = this.#made(update, triggers, principal);
      return event !== undefined && (await isAnybodyAsked(this.#host.store)) ? event : undefined;
    }
    const { chat, topic = '', isByBot } = message;
    const about = { bot: this.#account.name, chat };
    const isTaken = turns.take({ conversation: `${chat}/${topic}`, isByBot }, this.#host.log, about);
    return isTaken ? this.#made(update, triggers, principal) : undefined;
  }

  #made(update: unknown, triggers: Triggers, principal: Principal): NewEvent | undefined {
    const { identity, chats } = this.#account;
    const names = triggers.map(({ name }) => name);
    return botEvent({
      bot: identity,
      triggers: names,
      principal,
      update,
      formerIdsOf: chats.formerIdsOf,
    });
  }

  #answerPress(query: string, update: unknown): void {
    const message = botMessageOf(update);
    const decides = message !== undefined && decisionOf(message) !== undefined;
    // What came of a decision is the answer to it (outbound.ts), if it is known soon.
    if (decides) this.#answers.answerUnless(query, this.#account.isAnswered);
    else this.#answers.answer(query);
  }

  /** What is to be done besides. */
  async #heed(update: unknown, triggers: Triggers): Promise<void> {
    const query = queryIdOf(update);
    if (query !== undefined) this.#answerPress(query, update);
    const migration = migrationOf(update);
    if (migration !== undefined) await this.#account.noteMigration(migration, triggers);
  }
}
