// What a run says beside its answer, as rows of the outbox: where its event came from, or in a channel of the same account or another one.

import type { ApprovalPlaces } from '../../agents/approvals/approvals.ts';
import { channelPlace } from '../../agents/approvals/channel-place.ts';
import type { Sayings } from '../../agents/handlers/handler-context.ts';
import { outboxRows } from '../../events/outbox/outbox-rows.ts';
import { accountOf } from '../../platforms/adapter.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Taken } from './replies.ts';

export class Saying implements Sayings {
  readonly #taken: Taken;
  readonly #places: ApprovalPlaces;

  constructor(taken: Taken, places: ApprovalPlaces) {
    this.#taken = taken;
    this.#places = places;
  }

  get isHeard(): boolean {
    return this.#here() !== undefined;
  }

  async rows(text: string, step: string, channel?: string): Promise<readonly NewEvent[]> {
    const { trigger, event, inbound } = this.#taken;
    const at = channel === undefined ? this.#here() : await channelPlace(this.#taken, channel, this.#places);
    if (at?.adapter.outbound === undefined || text.trim() === '') return [];
    const expiresAt = channel === undefined ? inbound.answerBy : undefined;
    const message = {
      ...{ text, target: at.target, mentions: trigger.mentions, expiresAt },
      ...({ status: 'success', action: { do: 'post' } } as const),
    };
    const origin = { eventId: event.id, trace: event.trace, about: `said/${step}` };
    return outboxRows(at.adapter.outbound, accountOf(at.adapter, at.trigger), at.trigger, message, origin);
  }

  #here() {
    const { adapter, trigger, inbound } = this.#taken;
    const target = adapter.outbound?.target(trigger, inbound);
    return target && { adapter, trigger, target };
  }
}
