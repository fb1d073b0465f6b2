// Stores a bot's updates as events, or ignores them. Updates arrive by polling or webhook. The promises
// resolve only when the events are durable. The inbox also answers button presses and records group
// migrations.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Principal } from '../../identity/principal.ts';
import type { NewEvent } from '../../store/event.ts';
import type { AppendOutcome } from '../../store/store.ts';
import type { TriggerHost } from '../adapter.ts';
import { hasPendingApprovals } from '../chats/decisions.ts';
import { acceptAll } from '../webhooks/accept-all.ts';
import type { BotAccount } from './account.ts';
import type { BotApi } from './api.ts';
import { botEvent, decisionOf } from './event.ts';
import { QueryAnswers } from './query-answers.ts';
import { type BotMessage, botMessageOf, migrationOf, queryIdOf } from './update.ts';

type Triggers = readonly BotMessengerTrigger[];

export class BotInbox {
  readonly #account: BotAccount;
  readonly #host: TriggerHost;
  readonly #answers: QueryAnswers;

  constructor(account: BotAccount, api: BotApi, host: TriggerHost) {
    this.#account = account;
    this.#host = host;
    this.#answers = new QueryAnswers(api, host.log);
  }

  /**
   * Stores an update. Returns undefined for ignored updates. `principal` is the verified sender. Rejects if
   * the store does.
   */
  async accept(
    update: unknown,
    triggers: Triggers,
    principal: Principal,
  ): Promise<AppendOutcome | undefined> {
    await this.#handleSideEffects(update, triggers);
    const event = await this.#eventOf(update, triggers, principal);
    return event && this.#host.accept(event);
  }

  /**
   * Stores several updates in order. On rejection, some may be stored; the store recognises them when the
   * platform redelivers all.
   */
  async acceptAll(updates: readonly unknown[], triggers: Triggers, principal: Principal): Promise<void> {
    for (const update of updates) await this.#handleSideEffects(update, triggers);
    const events: NewEvent[] = [];
    for (const update of updates) {
      const event = await this.#eventOf(update, triggers, principal);
      if (event !== undefined) events.push(event);
    }
    await acceptAll(this.#host, events);
  }

  async #eventOf(update: unknown, triggers: Triggers, principal: Principal): Promise<NewEvent | undefined> {
    const { messageLimit } = this.#account;
    const message = botMessageOf(update);
    if (message === undefined) return undefined;
    // An arrival is an event only if a trigger has a welcome text. It is not counted as a bot message.
    if (message.kind === 'my_chat_member')
      return triggers.some(({ welcome = '' }) => welcome !== '')
        ? this.#createEvent(message, update, triggers, principal)
        : undefined;
    // A reaction is not counted as a bot message, and matters only while approvals are pending.
    if (message.kind === 'message_reaction') {
      const event = this.#createEvent(message, update, triggers, principal);
      return event !== undefined && (await hasPendingApprovals(this.#host.store)) ? event : undefined;
    }
    const { chat, topic = '', isByBot } = message;
    const about = { bot: this.#account.name, chat };
    const isAdmitted = messageLimit.admit(
      { conversation: `${chat}/${topic}`, isByBot },
      this.#host.log,
      about,
    );
    return isAdmitted ? this.#createEvent(message, update, triggers, principal) : undefined;
  }

  #createEvent(
    message: BotMessage,
    update: unknown,
    triggers: Triggers,
    principal: Principal,
  ): NewEvent | undefined {
    const { identity, chats, albums } = this.#account;
    const names = triggers.map(({ name }) => name);
    return botEvent({
      bot: identity,
      triggers: names,
      principal,
      update,
      previousIdsOf: chats.previousIdsOf,
      isAlbumRest: albums.isRest(message),
    });
  }

  #answerPress(query: string, update: unknown): void {
    const message = botMessageOf(update);
    const decides = message !== undefined && decisionOf(message) !== undefined;
    // The result of the decision answers the press (outbound.ts), if available soon.
    if (decides) this.#answers.answerUnless(query, this.#account.isAnswered);
    else this.#answers.answer(query);
  }

  /** Answers a press and records a migration. */
  async #handleSideEffects(update: unknown, triggers: Triggers): Promise<void> {
    const query = queryIdOf(update);
    if (query !== undefined) this.#answerPress(query, update);
    const migration = migrationOf(update);
    if (migration !== undefined) await this.#account.noteMigration(migration, triggers);
  }
}
