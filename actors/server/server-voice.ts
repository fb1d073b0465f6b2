// What a server says without being asked: its questions, and its notifications. Each goes to the one who may hear it,
// or to nobody; whom a shared connection means is never guessed.

import type { Envelope } from '../jsonrpc/envelope.ts';
import { refuseServerRequest } from './askable.ts';
import type { Call } from './call.ts';
import type { ClientWishes } from './client-wishes.ts';
import type { ListNotices } from './list-notices.ts';
import type { Member } from './member.ts';
import { spreadNotification } from './notifications.ts';
import type { Occupancy } from './occupancy.ts';
import { unmarked } from './upstream-listen.ts';

export interface VoiceOptions {
  readonly forwardsRoots: boolean;
  readonly wishes: ClientWishes;
  readonly listNotices: ListNotices;
  readonly occupancy: Occupancy;
}

export class ServerVoice {
  readonly #options: VoiceOptions;

  constructor(options: VoiceOptions) {
    this.#options = options;
  }

  /** The modern era has no such requests. */
  request({ era, owner, connection }: Member, envelope: Envelope, call: Call | undefined): void {
    const isRefused = envelope.method === 'roots/list' && !this.#options.forwardsRoots;
    if (era === 'modern' || owner === undefined || isRefused) refuseServerRequest(connection, envelope);
    else owner.onServerRequest(connection, envelope, call);
  }

  notification(member: Member, envelope: Envelope, call: Call | undefined): void {
    const { wishes, listNotices, occupancy } = this.#options;
    if (wishes.take(member, envelope)) return;
    const plain = member.era === 'modern' ? unmarked(envelope) : envelope;
    if (listNotices.take(member, plain)) return;
    const { owner, era, connection } = member;
    if (owner !== undefined && era === 'legacy') owner.onServerNotification(connection, plain, call);
    else spreadNotification(wishes.subscriptions, occupancy, member, plain, call);
  }
}
